/* count.c: a QEMU plugin: executed guest instructions per ELF symbol, exact and the same on every run.  Debian's QEMU
 * has plugins compiled in but ships no header, so what is called is declared here (plugin API 1).
 *
 *     gcc -O2 -shared -fPIC count.c -o libcount.so
 *     qemu-system-arm … -plugin ./libcount.so,out=FILE       lines of "COUNT SYMBOL" */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_INLINE_ADD_U64 };
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*)(uint64_t id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int operation, void *counter, uint64_t by);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*)(uint64_t id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arg);

/* The counters' addresses are compiled into the guest's blocks: they must not move. */
enum { SYMBOLS = 1024 };
static struct symbol {
	char name[120];
	uint64_t count;
} symbols[SYMBOLS];
static int symbol_count;
static const char *path;

static struct symbol *symbol_named(const char *name)
{
	name = name ? name : "?";
	for (int i = 0; i < symbol_count; i++)
		if (!strncmp(symbols[i].name, name, sizeof symbols[i].name - 1))
			return &symbols[i];
	if (symbol_count == SYMBOLS) {
		fprintf(stderr, "count: more than %d symbols\n", SYMBOLS);
		exit(1);
	}
	struct symbol *s = &symbols[symbol_count++];
	snprintf(s->name, sizeof s->name, "%s", name);
	return s;
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		struct symbol *s = symbol_named(qemu_plugin_insn_symbol(instruction));
		qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64, &s->count, 1);
	}
}

static void on_exit_print(uint64_t id, void *unused)
{
	(void)id, (void)unused;
	FILE *to = path ? fopen(path, "w") : stderr;
	if (!to)
		return;
	for (int i = 0; i < symbol_count; i++)
		fprintf(to, "%llu %s\n", (unsigned long long)symbols[i].count, symbols[i].name);
	if (path)
		fclose(to);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arg)
{
	(void)info;
	for (int i = 0; i < count; i++)
		if (!strncmp(arg[i], "out=", 4))
			path = strdup(arg[i] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_print, NULL);
	return 0;
}
