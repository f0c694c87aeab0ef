/* object.c: what an ELF object takes of memory, and the functions that it has and wants; of either width, in this
 * machine's order of bytes. */
#include "backends/backends.h"
#include <elf.h>

/* A section or a symbol as both widths have it. */
struct section {
	uint64_t at, bytes, flags;
	uint32_t type, link;
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
	return elf->wide
	        ? (struct section){ wide->sh_offset, wide->sh_size, wide->sh_flags, wide->sh_type, wide->sh_link }
	        : (struct section){ narrow->sh_offset, narrow->sh_size, narrow->sh_flags, narrow->sh_type,
		          narrow->sh_link };
}

static void add_symbols(struct build *build, const struct elf *elf, struct section symbols, struct object_sizes *sizes)
{
	size_t each = elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct section names =
	        symbols.link < elf->section_count ? section_at(elf, symbols.link) : (struct section){ 0 };
	const char *table = part_of(elf, symbols.at, symbols.bytes), *text = part_of(elf, names.at, names.bytes);
	for (uint64_t i = 1; table && text && (i + 1) * each <= symbols.bytes; i++) {
		const Elf64_Sym *wide = (const void *)(table + i * each);
		const Elf32_Sym *narrow = (const void *)(table + i * each);
		uint32_t name = elf->wide ? wide->st_name : narrow->st_name;
		unsigned info = elf->wide ? wide->st_info : narrow->st_info;
		bool none = (elf->wide ? wide->st_shndx : narrow->st_shndx) == SHN_UNDEF;
		if (name >= names.bytes || (!none && ELF32_ST_TYPE(info) != STT_FUNC))
			continue;
		const char *kept = arena_copy(build->arena, text + name, strnlen(text + name, names.bytes - name));
		struct object_function one = { kept,
			none ? -1 : (int64_t)(elf->wide ? wide->st_size : narrow->st_size) };
		push(build->arena, &sizes->functions, one);
	}
}

bool object_add_sizes(struct build *build, const char *path, struct object_sizes *sizes)
{
	struct elf elf = { .file = file_map(build, path) };
	file_keep(build, elf.file);
	if (!read_head(&elf))
		return false;
	for (unsigned i = 1; i < elf.section_count; i++) {
		struct section section = section_at(&elf, i);
		if (section.type == SHT_SYMTAB)
			add_symbols(build, &elf, section, sizes);
		if (section.flags & SHF_ALLOC)
			*(section.flags & SHF_EXECINSTR || !(section.flags & SHF_WRITE) ? &sizes->text
			                : section.type == SHT_NOBITS                    ? &sizes->bss
			                                             : &sizes->data) += (int64_t)section.bytes;
	}
	return true;
}
