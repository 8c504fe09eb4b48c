import { afterAll } from 'vitest';
import { endPrograms } from '../processes.js';

// Also of tests that failed before they stopped what they had started.
afterAll(endPrograms);
// Then vitest is interrupted, which sends this process a signal.
if (process.listenerCount('SIGTERM') === 0) process.once('SIGTERM', () => process.exit());
