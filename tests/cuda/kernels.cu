/* kernels.cu: kernels as a generator might print them, for the emulator's own test.  -DBUG_… plants faults that it has to find. */

/* c = a * b, n x n, 16 x 16 threads, tiles in shared memory; n a multiple of 16 */
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float tile_a[16][16], tile_b[16][16];
	int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
	float sum = 0;
	for (int t = 0; t < n; t += 16) {
		tile_a[y][x] = a[row * n + t + x];
		tile_b[y][x] = b[(t + y) * n + column];
#ifndef BUG_READ_EARLY
		__syncthreads();
#endif
		for (int k = 0; k < 16; k++)
			sum = __fmaf_rn(tile_a[y][k], tile_b[k][x], sum);
#ifndef BUG_WRITE_EARLY
		__syncthreads();
#endif
	}
#ifdef BUG_GLOBAL
	column += n;
#endif
	c[row * n + column] = sum;
}

/* out[block] = the sum of 256 elements by shuffles, then through shared memory */
extern "C" __global__ void reduce(const float *x, float *out)
{
	__shared__ float warps[8];
	float sum = x[blockIdx.x * 256 + threadIdx.x];
#ifdef BUG_WARP
	if (threadIdx.x % 32 < 16)
#endif
		for (int d = 16; d; d >>= 1)
			sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (threadIdx.x % 32 == 0)
#ifdef BUG_SHARED
		warps[threadIdx.x / 32 + 1] = sum;
#else
		warps[threadIdx.x / 32] = sum;
#endif
#ifdef BUG_DIVERGE
	if (threadIdx.x < 128)
		__syncthreads();
	else
		__syncthreads();
#elif defined BUG_LEAVE
	if (threadIdx.x >= 128)
		return;
	__syncthreads();
#else
	__syncthreads();
#endif
	if (threadIdx.x == 0) {
		for (int i = 1; i < 8; i++)
			sum += warps[i];
		out[blockIdx.x] = sum;
	}
}

/* Each warp reverses its 32 elements in place, through shared memory: no barrier of the block is needed. */
extern "C" __global__ void reverse(const float *x, float *y)
{
	__shared__ float line[64];
	int at = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x % 32, first = threadIdx.x - lane;
	line[threadIdx.x] = x[at];
#ifndef BUG_WARP_EARLY
	__syncwarp();
#endif
	y[at] = line[first + 31 - lane];
}

/* The same through dynamic shared memory. */
extern "C" __global__ void turn(const float *x, float *y)
{
	DYNAMIC_SHARED(float, line);
	line[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
	__syncthreads();
	y[blockIdx.x * 64 + threadIdx.x] = line[63 - threadIdx.x];
}

/* What no thread wrote is no number. */
extern "C" __global__ void stale(float *y)
{
	__shared__ float line[32];
	y[32 * blockIdx.x + threadIdx.x] = line[threadIdx.x];
	line[threadIdx.x] = 1;
}

/* Each chunk of 64 reversed, through two stages of asynchronous copies: while one is read the next is on its way. */
extern "C" __global__ void staged(const float *x, float *y, int chunks)
{
	__shared__ float stage[2][64] __attribute__((aligned(16)));
	int t = threadIdx.x;
	if (t < 16)
#ifdef BUG_COPY_ALIGN
		emulator_copy(&stage[0][4 * t + 1], x + 4 * t, 16, 1);
#else
		emulator_copy(&stage[0][4 * t], x + 4 * t, 16, 1);
#endif
	emulator_copy_commit();
	for (int c = 0; c < chunks; c++) {
#ifdef BUG_COPY_WAIT
		emulator_copy_wait(1);
#else
		emulator_copy_wait(0);
#endif
#ifndef BUG_COPY_MEET
		__syncthreads();
#endif
#ifdef BUG_COPY_LEFT
		if (t < 16)
#else
		if (t < 16 && c + 1 < chunks)
#endif
#ifdef BUG_COPY_REFILL
			emulator_copy(&stage[c % 2][4 * t], x + 64 * (c + 1) + 4 * t, 16, 1);
#else
			emulator_copy(&stage[(c + 1) % 2][4 * t], x + 64 * (c + 1) + 4 * t, 16, 1);
#endif
		emulator_copy_commit();
		y[64 * c + t] = stage[c % 2][63 - t];
	}
#ifdef BUG_COPY_WAIT
	emulator_copy_wait(0);
#endif
}

/* A square turned through shared memory: a column of it is 32 banks with the pad, one without. */
extern "C" __global__ void transpose(const float *x, float *y)
{
#ifdef BUG_BANKS
	__shared__ float square[32][32];
#else
	__shared__ float square[32][33];
#endif
	for (int i = 0; i < 32; i++)
		square[i][threadIdx.x] = x[32 * i + threadIdx.x];
	__syncwarp();
	for (int i = 0; i < 32; i++)
		y[32 * i + threadIdx.x] = square[threadIdx.x][i];
}

/* Two warps put their elements side by side, and turn them round; scratch has what nobody looks at.  Faults 1 to 9 are races that change no result, in whatever order
 * threads run: their writes, a read of another's write, a write of what another reads, lanes of a warp, a copy that is not waited for, global memory, a write of what all
 * have read, a read of what another warp wrote and has read since, and a byte beside one's own. */
extern "C" __global__ void quiet(const float *x, float *y, int fault)
{
	__shared__ float line[64], scratch[64] __attribute__((aligned(16)));
	__shared__ unsigned char bytes[64];
	const int t = threadIdx.x, other = 63 - t;
	float seen = 0;
	line[t] = x[t];
	scratch[t] = 1;
	bytes[t] = (unsigned char)t;
	__syncthreads();
	if (fault == 1)
		scratch[t / 2] = (float)t;
	if (fault == 2) {
		scratch[t] = 2;
		seen = scratch[other];
	}
	if (fault == 3) {
		seen = line[other];
		*(volatile float *)&line[t] = x[t];
	}
	if (fault == 4) {
		scratch[t] = 1;
		seen = scratch[t ^ 1];
	}
	if (fault == 5) {
		if (t < 16)
			emulator_copy(&scratch[4 * t], x + 4 * t, 16, 1);
		seen = scratch[t];
		emulator_copy_commit();
		emulator_copy_wait(0);
	}
	if (fault == 6) {
		y[t] = 0;
		seen = y[other];
	}
	if (fault == 7) {
		seen = scratch[0];
		if (t == 5)
			*(volatile float *)&scratch[0] = 1;
	}
	if (fault == 8) {
		if (t == 5)
			scratch[0] = 1;
		__syncwarp();
		seen = scratch[0];
	}
	if (fault == 9)
		seen = bytes[t ^ 1];
	bytes[t] = (unsigned char)t;
	__syncthreads();
	y[t] = seen == 12345 || scratch[t] == 12345 ? seen : line[other];
}

/* Each block sums its own 32 elements, and all blocks one more: its left neighbour's last. */
extern "C" __global__ void halo(float *x, float *y)
{
	int i = 32 * blockIdx.x + threadIdx.x;
	float left = i ? x[i - 1] : 0;
#ifdef BUG_RACE_READ
	if (threadIdx.x == 31)
		x[i] = x[i] + left;
	y[i] = x[i];
#elif defined BUG_RACE_WRITE
	y[i] = x[i] + left;
	y[i + (threadIdx.x == 31)] = y[i];
#elif defined BUG_RACE_LATE
	y[i] = x[i] + left + 0 * x[255];
	if (i == 255)
		x[255] = x[255] + 0;
#else
	y[i] = x[i] + left;
#endif
}
