import { once } from 'node:events';
import { MessagePort, workerData } from 'node:worker_threads';

/** Returns the `workerData` of this thread, also if it was started before they were known. */
export async function threadInput<Input>(): Promise<Input> {
  if (!(workerData instanceof MessagePort)) return workerData as Input;
  const [input] = await once(workerData, 'message');
  return input as Input;
}
