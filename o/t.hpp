/* t.hpp: t.h for C++11 and later: tensors that know their size, memory that frees itself.  grid_sample.onnxtxt, cast by ingot 0.1.0 (--cpu armv8-a --threads 1 --optimise speed --algorithms fast).
 *
 *     static t_memory memory;             // or none: t_model model; takes it from the heap, once
 *     t_model model(memory);
 *     t_in in;
 *     t_out out;
 *     in.x = array;                // 6 of float: another type or size does not compile
 *     if (int code = model.run(in, out)) …         // a code of t.h
 *
 * No exceptions, no RTTI, no virtual function; nothing is allocated but by t_model's constructor without an argument. */
#ifndef T_HPP
#define T_HPP
#include "t.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#ifndef INGOT_ELEMENTS_DEFINED
#define INGOT_ELEMENTS_DEFINED
/* A pointer to COUNT elements in C order that somebody else owns. */
template <class T, std::size_t COUNT> class ingot_elements {
public:
	ingot_elements() : at_(nullptr) {}
	/* An array of any dims with as many elements of that type. */
	template <class A, class = typename std::enable_if<std::is_array<A>::value && sizeof(A) == COUNT * sizeof(T)
		&& std::is_same<typename std::remove_cv<typename std::remove_all_extents<A>::type>::type, typename std::remove_cv<T>::type>::value
		&& (std::is_const<T>::value || !std::is_const<typename std::remove_all_extents<A>::type>::value)>::type>
	ingot_elements(A &array) : at_(reinterpret_cast<T *>(&array)) {}
	ingot_elements(std::array<typename std::remove_const<T>::type, COUNT> &array) : at_(array.data()) {}
	template <class U, class = typename std::enable_if<std::is_const<T>::value && std::is_same<const U, T>::value>::type>
	ingot_elements(const std::array<U, COUNT> &array) : at_(array.data()) {}
	explicit ingot_elements(T *at) : at_(at) {}             /* whoever has a pointer alone answers for the size */
	T *data() const { return at_; }
	static constexpr std::size_t size() { return COUNT; }
private:
	T *at_;
};
#endif

struct t_in {
	ingot_elements<const float, 6> x;        /* [1,1,2,3] x */
	ingot_elements<const float, 8> g;        /* [1,1,4,2] g */
};
struct t_out {
	ingot_elements<float, 4> a;        /* [1,1,1,4] a */
	ingot_elements<float, 4> b;        /* [1,1,1,4] b */
	ingot_elements<float, 4> c;        /* [1,1,1,4] c */
	ingot_elements<float, 4> d;        /* [1,1,1,4] d */
};
/* What a model runs in, for those who say where it lies. */
struct t_memory {
	alignas(T_WORKSPACE_ALIGN) unsigned char workspace[T_WORKSPACE_BYTES + 1];
};

/* One at a time may run in one memory; models with memories of their own run at the same time. */
class t_model {
public:
	t_model() : heap_(new (std::nothrow) unsigned char[sizeof(t_memory) + T_WORKSPACE_ALIGN]), context_()
	{
		const std::size_t past = reinterpret_cast<std::uintptr_t>(heap_) % T_WORKSPACE_ALIGN;
		if (heap_)                                            /* else run says T_BAD_WORKSPACE */
			use(*reinterpret_cast<t_memory *>(heap_ + (T_WORKSPACE_ALIGN - past)));
	}
	explicit t_model(t_memory &memory) : heap_(nullptr), context_() { use(memory); }
	t_model(t_model &&other) noexcept : heap_(other.heap_), context_(other.context_)
	{
		other.heap_ = nullptr;
		other.context_ = t_context();
	}
	t_model(const t_model &) = delete;
	t_model &operator=(const t_model &) = delete;
	~t_model() { delete[] heap_; }

	/* A code of t.h; T_OK is 0. */
	int run(const t_in &in, const t_out &out)
	{
		t_inputs from = t_inputs();
		t_outputs to = t_outputs();
		from.x = in.x.data();
		from.g = in.g.data();
		to.a = out.a.data();
		to.b = out.b.data();
		to.c = out.c.data();
		to.d = out.d.data();
		return t_run(&from, &to, &context_);
	}
	/* Where and with what it runs: weights, the parallel-for. */
	t_context &context() { return context_; }
private:
	void use(t_memory &memory)
	{
		context_.workspace = memory.workspace;
	}
	unsigned char *heap_;
	t_context context_;
};
#endif
