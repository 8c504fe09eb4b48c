import { setFlagsFromString } from 'node:v8';

/** Percent by which the heap of a thread can grow between two collections of all its garbage; V8 would allow 300. */
const GROWTH_PERCENT = 50;

/**
 * Limits the garbage in the heaps of all threads of this process. Without a limit, V8 collects it when a heap is several
 * times as large as what lives in it, which a registry has for each of its threads.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
