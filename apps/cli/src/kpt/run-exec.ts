import {
  isDeletable,
  knownRegistries,
  type PinnedCode,
  refuseTakenDown,
  withTakedowns,
} from '@krmhub/consume/trust/takedowns';
import { FunctionFailure } from '@krmhub/functions';
import { KrmhubError } from '@krmhub/schema/error';
import { parseExecutable, parseScript } from '../function-configs/exec-line.js';
import { FINDINGS } from '../io/exit-code.js';
import { type Io, write, writeData } from '../io/io.js';
import { readStdin } from '../io/read-stdin.js';
import { watchCaller } from '../io/watch-caller.js';
import { consumePorts } from '../registry/consume-ports.js';

import { Runner } from '../run/runner.js';

/** Bytes of a ResourceList. kpt sends the whole package. */
const MAX_INPUT_BYTES = 134_217_728;

/**
 * Runs the executable of this platform, or the script, with a ResourceList from stdin, as kpt runs the command line in
 * a Kptfile. kpt asks its user for permission (`--allow-exec`) before it runs this command.
 */
export async function runExec(io: Io, executables: readonly string[]): Promise<void> {
  const [first = ''] = executables;
  const script = executables.length === 1 ? parseScript(first) : undefined;
  const platforms = script === undefined ? executables.map(parseExecutable) : [];
  const input = await readStdin(io, MAX_INPUT_BYTES);
  if (input.byteLength > MAX_INPUT_BYTES) {
    throw new KrmhubError('too-large', `the ResourceList has more than ${MAX_INPUT_BYTES} bytes`);
  }
  const signal = watchCaller(io, 'the function');
  await requireNotTakenDown(io, script === undefined ? platforms : [script]);
  const runner = new Runner(io, { allowExec: true, network: false, mounts: [] });
  try {
    const prepared = await runner.entry(
      script === undefined
        ? { apiVersion: 'the executable', kind: platforms[0]!.bin, runtime: { type: 'exec', platforms } }
        : { apiVersion: 'the script', kind: script.reference, runtime: script },
    );
    const { output, stderr, exitCode } = await prepared.run(input, { signal });
    await write(io.stderr, new TextDecoder().decode(stderr));
    // kpt reads the results of a function that failed, too.
    await writeData(io.stdout, output);
    if (exitCode !== 0) io.exitCode = FINDINGS;
  } catch (error) {
    if (error instanceof FunctionFailure) await write(io.stderr, new TextDecoder().decode(error.stderr));
    throw error;
  } finally {
    await runner.close();
  }
}

/** Throws `gone` if a registry took the code down that this machine knows. Scripts of registries are checked later. */
async function requireNotTakenDown(io: Io, code: readonly PinnedCode[]): Promise<void> {
  const codes = code.filter((one) => !isDeletable(one));
  if (codes.length === 0) return;
  const registries = await knownRegistries(io, []);
  await withTakedowns(consumePorts(io), (cache) =>
    refuseTakenDown(consumePorts(io), cache, 'the function', { codes, registries }),
  );
}
