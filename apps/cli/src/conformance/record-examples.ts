import { defined } from '@krmhub/schema/defined';
import type { TryItExample } from '@krmhub/schema/documents/try-it';
import { SIGNING_LIMITS } from '@krmhub/signing/limits';
import type { Io } from '../io/io.js';
import { type Example, readExpectation } from './read-examples.js';

/**
 * Returns examples that passed, as a report has them: their files before and after the function. Those that do not fit
 * are left out.
 */
export async function recordExamples(io: Io, passed: readonly Example[]): Promise<TryItExample[]> {
  const recorded: TryItExample[] = [];
  for (const example of passed) {
    const one = await recordExample(io, example);
    const length = JSON.stringify([...recorded, one]).length;
    if (length > SIGNING_LIMITS.maxRecordedLength) continue;
    recorded.push(one);
    if (recorded.length === SIGNING_LIMITS.maxRecordedExamples) break;
  }
  return recorded;
}

async function recordExample(io: Io, example: Example): Promise<TryItExample> {
  const { name, functionConfig, input } = example;
  const { expected, results = [], failure = [] } = await readExpectation(io, example);
  return {
    name: name.slice(0, SIGNING_LIMITS.maxTestNameLength),
    ...defined({ functionConfig: functionConfig?.resource.text() }),
    input: textsOf(input),
    ...defined({ output: expected && textsOf(expected) }),
    messages: [...results.map(({ message }) => message), ...failure],
  };
}

function textsOf({ files }: Example['input']): Record<string, string> {
  return Object.fromEntries([...files].map(([path, { text }]) => [path, text]));
}
