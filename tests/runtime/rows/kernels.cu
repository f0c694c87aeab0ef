/* kernels.cu: the kernels of the rows' modules on a GPU: what their functions do on the host (small.c and the tests), by the same order of operations.
 *
 * A block is a group: whatever number of threads the device chose for it, the first does the work. */
#define KERNEL extern "C" __global__ void
#define FIRST (!threadIdx.x && !threadIdx.y && !threadIdx.z)

KERNEL row_multiply(const float *a, const float *b, float *y)
{
	if (FIRST)
		y[blockIdx.x] = a[blockIdx.x] * b[blockIdx.x];
}

KERNEL row_double(const float *x, float *y)
{
	if (FIRST)
		y[blockIdx.x] = 2 * x[blockIdx.x];
}

/* Its sum is written before the product is, so that scratch is used. */
KERNEL row_dense(const float *x, const float *w, const float *s, float *y, float *scratch)
{
	if (!FIRST)
		return;
	scratch[blockIdx.x] = w[blockIdx.x] * x[blockIdx.x];
	y[blockIdx.x] = scratch[blockIdx.x] + s[blockIdx.x];
}

KERNEL row_clear(float *y)
{
	if (FIRST)
		y[blockIdx.x] = 0;
}

KERNEL row_increase(float *y)
{
	if (FIRST)
		y[blockIdx.x] += 1;
}

KERNEL row_add(const float *x, float *sum)
{
	if (FIRST)
		sum[blockIdx.x] += x[blockIdx.x];
}

KERNEL row_copy(const float *x, float *y)
{
	if (FIRST)
		y[blockIdx.x] = x[blockIdx.x];
}

KERNEL row_hundred(float *y)
{
	if (FIRST)
		y[blockIdx.x] = 100 + (float)blockIdx.x;
}

KERNEL row_slow(float *y)
{
	if (FIRST)
		for (int round = 0; round < 2000; round++)
			*(volatile float *)&y[blockIdx.x] = (float)round;
}

KERNEL row_where(int *out)
{
	if (!FIRST)
		return;
	int *at = out + 8 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
	at[0] = (int)blockIdx.x, at[1] = (int)blockIdx.y, at[2] = (int)blockIdx.z;
	at[3] = (int)blockDim.x, at[4] = (int)blockDim.y, at[5] = (int)blockDim.z;
	at[6] = 1;
}

/* Where an argument lies. */
KERNEL row_look(const void *at, unsigned long long *seen)
{
	if (FIRST)
		*seen = (unsigned long long)at;
}

/* Blocks of one thread, or no code that goes on. */
KERNEL row_shape(void)
{
	if (blockDim.x != 1 || blockDim.y != 1 || blockDim.z != 1)
		*(volatile int *)0 = 1;
}

/* The device does not recover from it. */
KERNEL row_trap(void)
{
	if (FIRST)
		__trap();
}

#define TEN(X, t)        X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define HUNDRED(X, h)    TEN(X, h##0) TEN(X, h##1) TEN(X, h##2) TEN(X, h##3) TEN(X, h##4) TEN(X, h##5) TEN(X, h##6) TEN(X, h##7) TEN(X, h##8) TEN(X, h##9)
#define ARGUMENT(number) float *a##number,
#define STORE(number)    *a##number = (float)(1##number - 1000);
/* 300 arguments: 000 to 299. */
KERNEL row_many(HUNDRED(ARGUMENT, 0) HUNDRED(ARGUMENT, 1) TEN(ARGUMENT, 20) TEN(ARGUMENT, 21) TEN(ARGUMENT, 22) TEN(ARGUMENT, 23) TEN(ARGUMENT, 24)
	TEN(ARGUMENT, 25) TEN(ARGUMENT, 26) TEN(ARGUMENT, 27) TEN(ARGUMENT, 28) ARGUMENT(290) ARGUMENT(291) ARGUMENT(292) ARGUMENT(293) ARGUMENT(294)
	ARGUMENT(295) ARGUMENT(296) ARGUMENT(297) ARGUMENT(298) float *a299)
{
	if (FIRST) {
		HUNDRED(STORE, 0) HUNDRED(STORE, 1) HUNDRED(STORE, 2)
	}
}
