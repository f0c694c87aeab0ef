/* images.c: what was compiled from the text of kernels.cpp, beside it.  IMAGES: X(number, "file") of each.  A file of its own, as ccache keeps nothing that
 * includes files by the assembler. */
#define X(number, file) \
	__asm__(".pushsection .rodata\nimage_" #number ": .incbin \"" file "\"\nimage_" #number \
	        "_end: .byte 0\n.popsection"); \
	extern __attribute__((visibility("hidden"))) const unsigned char image_##number[], image_##number##_end[];
IMAGES
#undef X
struct image_row {
	const unsigned char *at, *end;
};
extern const struct image_row standin_images[];
const struct image_row standin_images[] = {
#define X(number, file) { image_##number, image_##number##_end },
	IMAGES
#undef X
	{ 0, 0 }
};
