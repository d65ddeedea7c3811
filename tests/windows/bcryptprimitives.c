/* Wine before version 9 lacks this library, which Rust's own asks for random numbers. For trials only: Windows has it. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID to, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T bytes)
{
    while (bytes > 0) {
        ULONG part = bytes > 0x10000000 ? 0x10000000 : (ULONG)bytes;
        if (!SystemFunction036(to, part))
            return FALSE;
        to += part;
        bytes -= part;
    }
    return TRUE;
}
