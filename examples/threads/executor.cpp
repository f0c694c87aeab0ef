// executor.cpp: a C++ executor as the parallel-for: threads that sleep on a condition variable.
#include "measure.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

class executor {
public:
	explicit executor(int workers)
	{
		for (int i = 1; i < workers; i++)
			threads_.emplace_back([this] { work(); });
		parallel_.run = run;
		parallel_.pool = this;
		parallel_.workers = workers;
	}
	~executor()
	{
		{
			std::lock_guard<std::mutex> lock(mutex_);
			ends_ = true;
		}
		asked_.notify_all();
		for (std::thread &thread : threads_)
			thread.join();
	}
	executor(const executor &) = delete;
	executor &operator=(const executor &) = delete;
	const ingot_parallel *parallel() const { return &parallel_; }

private:
	// One caller at a time; returns when every task has.
	static void run(void *pool, void (*task)(void *, int), void *argument, int count)
	{
		executor &self = *static_cast<executor *>(pool);
		std::unique_lock<std::mutex> lock(self.mutex_);
		self.task_ = task;
		self.argument_ = argument;
		self.next_ = 0;
		self.count_ = self.left_ = count;
		self.asked_.notify_all();
		self.take(lock);
		self.done_.wait(lock, [&self] { return !self.left_; });
	}
	// Tasks run without the lock.
	void take(std::unique_lock<std::mutex> &lock)
	{
		while (next_ < count_) {
			const int index = next_++;
			lock.unlock();
			task_(argument_, index);
			lock.lock();
			if (!--left_)
				done_.notify_all();
		}
	}
	void work()
	{
		std::unique_lock<std::mutex> lock(mutex_);
		while (!ends_) {
			take(lock);
			asked_.wait(lock, [this] { return ends_ || next_ < count_; });
		}
	}
	std::mutex mutex_;
	std::condition_variable asked_, done_;
	std::vector<std::thread> threads_;
	ingot_parallel parallel_;
	void (*task_)(void *, int) = nullptr;
	void *argument_ = nullptr;
	int next_ = 0, count_ = 0, left_ = 0;
	bool ends_ = false;
};

int main()
{
	const unsigned cores = std::thread::hardware_concurrency();
	executor all(cores ? static_cast<int>(cores) : 1);
	return measure(all.parallel());
}
