/* object.c: what an ELF object takes of memory, the functions that it has and wants, and which of them calls which; of
 * either width, in this machine's order of bytes. */
#include "backends/backends.h"
#include <elf.h>

/* A section or a symbol as both widths have it. */
struct section {
	uint64_t at, bytes, flags;
	uint32_t type, link, info;
};
struct symbol {
	const char *name;
	uint64_t bytes;
	unsigned type, section; /* SHN_UNDEF: wanted */
};
struct elf {
	struct mapped file;
	bool wide;
	uint64_t sections;
	unsigned section_count, section_bytes;
};

static const void *part_of(const struct elf *elf, uint64_t at, uint64_t bytes)
{
	const uint8_t *from = elf->file.at;
	return at <= elf->file.bytes && bytes <= elf->file.bytes - at ? from + at : NULL;
}

static bool read_head(struct elf *elf)
{
	const unsigned char *ident = part_of(elf, 0, EI_NIDENT);
	if (!ident || memcmp(ident, ELFMAG, SELFMAG)
	        || ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return false;
	elf->wide = ident[EI_CLASS] == ELFCLASS64;
	const Elf64_Ehdr *wide = part_of(elf, 0, sizeof *wide);
	const Elf32_Ehdr *narrow = part_of(elf, 0, sizeof *narrow);
	if (elf->wide ? !wide : !narrow)
		return false;
	elf->sections = elf->wide ? wide->e_shoff : narrow->e_shoff;
	elf->section_count = elf->wide ? wide->e_shnum : narrow->e_shnum;
	elf->section_bytes = elf->wide ? wide->e_shentsize : narrow->e_shentsize;
	return elf->section_bytes == (elf->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr))
	        && part_of(elf, elf->sections, (uint64_t)elf->section_count * elf->section_bytes);
}

static struct section section_at(const struct elf *elf, unsigned i)
{
	const void *at = part_of(elf, elf->sections + (uint64_t)i * elf->section_bytes, elf->section_bytes);
	const Elf64_Shdr *wide = at;
	const Elf32_Shdr *narrow = at;
	return elf->wide ? (struct section){ wide->sh_offset, wide->sh_size, wide->sh_flags, wide->sh_type,
		wide->sh_link, wide->sh_info }
	                 : (struct section){ narrow->sh_offset, narrow->sh_size, narrow->sh_flags, narrow->sh_type,
		                   narrow->sh_link, narrow->sh_info };
}

static uint64_t symbol_count(const struct elf *elf, struct section symbols)
{
	return part_of(elf, symbols.at, symbols.bytes)
	        ? symbols.bytes / (elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym))
	        : 0;
}

/* A symbol of that table, which has it; "" where its name lies outside. */
static struct symbol symbol_at(const struct elf *elf, struct section symbols, uint64_t i)
{
	struct section names =
	        symbols.link < elf->section_count ? section_at(elf, symbols.link) : (struct section){ 0 };
	const char *text = part_of(elf, names.at, names.bytes);
	const Elf64_Sym *wide = (const Elf64_Sym *)part_of(elf, symbols.at, symbols.bytes) + i;
	const Elf32_Sym *narrow = (const Elf32_Sym *)part_of(elf, symbols.at, symbols.bytes) + i;
	uint32_t name = elf->wide ? wide->st_name : narrow->st_name;
	struct symbol symbol = { "", elf->wide ? wide->st_size : narrow->st_size,
		ELF32_ST_TYPE(elf->wide ? wide->st_info : narrow->st_info),
		elf->wide ? wide->st_shndx : narrow->st_shndx };
	if (text && name < names.bytes && memchr(text + name, 0, names.bytes - name))
		symbol.name = text + name; /* the file is kept */
	return symbol;
}

static bool is_callable(struct symbol symbol)
{
	return *symbol.name && (symbol.section == SHN_UNDEF || symbol.type == STT_FUNC);
}

static void add_symbols(struct build *build, const struct elf *elf, struct section symbols, struct object_sizes *sizes)
{
	for (uint64_t i = 1; i < symbol_count(elf, symbols); i++) {
		struct symbol symbol = symbol_at(elf, symbols, i);
		struct object_function one = { symbol.name, symbol.section == SHN_UNDEF ? -1 : (int64_t)symbol.bytes };
		if (is_callable(symbol))
			push(build->arena, &sizes->functions, one);
	}
}

/* The function that a section holds; NULL: none. */
static const char *function_in(const struct elf *elf, struct section symbols, unsigned section)
{
	for (uint64_t i = 1; i < symbol_count(elf, symbols); i++) {
		struct symbol symbol = symbol_at(elf, symbols, i);
		if (symbol.section == section && symbol.type == STT_FUNC)
			return symbol.name;
	}
	return NULL;
}

static void add_calls(
        struct build *build, const struct elf *elf, struct section relocations, struct object_sizes *sizes)
{
	bool added = relocations.type == SHT_RELA;
	struct section symbols =
	        relocations.link < elf->section_count ? section_at(elf, relocations.link) : (struct section){ 0 };
	const char *from = function_in(elf, symbols, relocations.info),
	           *table = part_of(elf, relocations.at, relocations.bytes);
	size_t each = elf->wide ? added ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel)
	        : added ? sizeof(Elf32_Rela)
	                        : sizeof(Elf32_Rel);
	for (uint64_t i = 0; from && table && (i + 1) * each <= relocations.bytes; i++) {
		const Elf64_Rel *wide = (const void *)(table + i * each);
		const Elf32_Rel *narrow = (const void *)(table + i * each);
		uint64_t symbol = elf->wide ? ELF64_R_SYM(wide->r_info) : ELF32_R_SYM(narrow->r_info);
		if (symbol >= symbol_count(elf, symbols))
			continue;
		struct symbol to = symbol_at(elf, symbols, symbol);
		struct object_call call = { from, to.name, sizes->objects - 1 };
		if (is_callable(to))
			push(build->arena, &sizes->calls, call);
	}
}

bool object_add_sizes(struct build *build, const char *path, struct object_sizes *sizes)
{
	struct elf elf = { .file = file_map(build, path) };
	sizes->objects++;
	file_keep(build, elf.file);
	if (!read_head(&elf))
		return false;
	for (unsigned i = 1; i < elf.section_count; i++) {
		struct section section = section_at(&elf, i);
		if (section.type == SHT_SYMTAB)
			add_symbols(build, &elf, section, sizes);
		if (section.type == SHT_RELA || section.type == SHT_REL)
			add_calls(build, &elf, section, sizes);
		if (section.flags & SHF_ALLOC)
			*(section.flags & SHF_EXECINSTR || !(section.flags & SHF_WRITE) ? &sizes->text
			                : section.type == SHT_NOBITS                    ? &sizes->bss
			                                             : &sizes->data) += (int64_t)section.bytes;
	}
	return true;
}
