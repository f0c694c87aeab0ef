/* clang-format off */
/* taken.h: names that are somebody else's: T(what, words), words apart by blanks; one that ends in * stands for all that begin so.
 *   HEADER   a file that C, POSIX or a compiler includes as <WORD.h>: a library of that name would hide it
 *   WORD     keywords of C (to C23) and C++ (to C++26) that common/names.c does not list
 *   MACRO    objects (no functions) that C's headers, POSIX's and compilers define without a leading underscore: no member of a struct can have
 *            such a name where the header was included before
 *   TARGET   what CMake keeps for itself, and libraries that programs link by name */
T(HEADER, "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit stdbool"
	" stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype")
T(HEADER, "aio alloca ar argp argz byteswap cpio crypt dirent dlfcn elf endian envz err error execinfo fcntl features fmtmsg fnmatch fstab fts ftw"
	" gconv getopt glob grp iconv ifaddrs langinfo lastlog libgen libintl link malloc mcheck memory mntent monetary mqueue ndbm netdb newlib nl_types"
	" nss obstack paths poll printf proc_service pthread pty pwd re_comp regex regexp resolv sched search semaphore sgtty shadow spawn stab stropts"
	" strings syscall sysexits syslog tar termio termios thread_db ttyent ucontext ulimit unistd ustat utime utmp utmpx values wait wordexp")
T(HEADER, "emmintrin immintrin x86intrin xmmintrin cpuid arm_neon arm_acle arm_fp16 mm_malloc unwind varargs tbmintrin"
	" cuda cuda_runtime nvrtc reent envlock ieeefp tcclib")
T(WORD, "char8_t char16_t char32_t co_await co_return co_yield concept consteval constinit contract_assert imaginary complex noreturn requires typeof"
	" typeof_unqual")
T(MACRO, "ATOMIC_* BUFSIZ CHAR_BIT CHAR_MAX CHAR_MIN CLOCKS_PER_SEC DBL_* DECIMAL_DIG EOF EXIT_FAILURE EXIT_SUCCESS FE_* FILENAME_MAX FLT_*"
	" FOPEN_MAX FP_* HUGE_VAL HUGE_VALF HUGE_VALL I INFINITY INT_* INT8_* INT16_* INT32_* INT64_* INTMAX_* INTPTR_* LC_* LDBL_* LLONG_* LONG_*"
	" L_tmpnam L_ctermid MATH_ERREXCEPT MATH_ERRNO MB_CUR_MAX MB_LEN_MAX NAN NULL ONCE_FLAG_INIT PRI* PTRDIFF_* RAND_MAX SCHAR_* SCN* SEEK_* SHRT_*"
	" SIG* SIZE_MAX TIME_UTC TMP_MAX TSS_DTOR_ITERATIONS UCHAR_MAX UINT_* UINT8_* UINT16_* UINT32_* UINT64_* UINTMAX_MAX UINTPTR_MAX UINT_MAX"
	" ULLONG_MAX ULONG_MAX USHRT_MAX WCHAR_MAX WCHAR_MIN WEOF WINT_MAX WINT_MIN math_errhandling stderr stdin stdout")
T(MACRO, "E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG EBADR EBADRQC EBADSLT EBFONT EBUSY"
	" ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG"
	" EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT"
	" EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL"
	" ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET"
	" ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO"
	" EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL"
	" EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK"
	" EXDEV EXFULL")
T(MACRO, "AIO_PRIO_DELTA_MAX BC_* BIG_ENDIAN BUS_* BYTE_ORDER CHARCLASS_NAME_MAX CLD_* CLOCK_* COLL_WEIGHTS_MAX DELAYTIMER_MAX EXPR_NEST_MAX"
	" FD_SETSIZE FPE_* F_OK HOST_NAME_MAX ILL_* LINE_MAX LITTLE_ENDIAN LOGIN_NAME_MAX MAX_CANON MAX_INPUT MINSIGSTKSZ MQ_PRIO_MAX M_1_PI M_2_PI"
	" M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAME_MAX NFDBITS NGREG NGROUPS_MAX NSIG O_* PATH_MAX PDP_ENDIAN"
	" PIPE_BUF POLL* PTHREAD_* P_tmpdir RE_DUP_MAX RTSIG_MAX R_OK SA_* SEGV_* SEM_VALUE_MAX SI_* SSIZE_MAX SS_DISABLE SS_ONSTACK S_I* TIMER_ABSTIME"
	" TTY_NAME_MAX WCONTINUED WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED W_OK XATTR_* X_OK sa_handler sa_sigaction si_* sigev_notify_attributes"
	" sigev_notify_function st_atime st_ctime st_mtime s6_addr h_errno")
T(MACRO, "linux unix i386 m68k mips sparc sun PPC")
T(TARGET, "all ALL_BUILD clean depend edit_cache help install INSTALL list_install_components package package_source PACKAGE preinstall"
	" rebuild_cache RUN_TESTS test ZERO_CHECK uninstall NIGHTLY Continuous Experimental Nightly")
T(TARGET, "c m dl rt util pthread gcc gcc_s atomic g nosys rdimon stdc++ tcc")
