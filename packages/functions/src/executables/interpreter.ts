import { open } from 'node:fs/promises';
import path from 'node:path';
import { isExecutable } from '../process/find-program.js';
import { type CommandPlace, isInside, visibleFolders } from '../sandbox/bubblewrap.js';
import { realPath } from '../sandbox/real-path.js';

/** Longest first line that Linux reads (BINPRM_BUF_SIZE). */
const MAX_LINE_BYTES = 256;

/** The interpreter of a script in a folder that the sandbox hides, as with the version managers of Node.js. */
export interface HiddenInterpreter {
  file: string;
  /** Whether the sandbox shows its folder, as one of PATH. It may still need files beside it. */
  isShown: boolean;
}

/** Returns the interpreter of a script if it is in a hidden folder; undefined for other programs. */
export async function findHiddenInterpreter(
  command: CommandPlace & { file: string },
): Promise<HiddenInterpreter | undefined> {
  const [interpreter, name] = await readShebang(command.file);
  if (interpreter === undefined) return undefined;
  const { hidden, shown, real } = await visibleFolders(command);
  const isHidden = (file: string) => hidden.some((folder) => isInside(file, folder));
  let first: HiddenInterpreter | undefined;
  for (const file of candidates(interpreter, name, command.env)) {
    const target = await realPath(file);
    if (!(await isExecutable(target))) continue;
    if (!isHidden(file) && !isHidden(target)) return undefined;
    const isVisible = (one: string) =>
      !isHidden(one) || [...shown, ...real].some((folder) => isInside(one, folder));
    const found = { file, isShown: isVisible(file) && isVisible(target) };
    if (found.isShown) return found;
    first ??= found;
  }
  return first;
}

/** `env` takes the first program that it finds in the folders of PATH. */
function candidates(interpreter: string, name: string | undefined, env: CommandPlace['env']): string[] {
  if (path.basename(interpreter) !== 'env' || name === undefined) return [interpreter];
  return (env.PATH ?? '').split(':').map((folder) => path.join(folder, name));
}

/** Returns the interpreter, and for `env` the name of the program that it finds. */
async function readShebang(file: string): Promise<[interpreter?: string, name?: string]> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_LINE_BYTES), 0, MAX_LINE_BYTES, 0);
    const [line = ''] = buffer.subarray(0, bytesRead).toString().split('\n');
    if (!line.startsWith('#!')) return [];
    const [interpreter, ...args] = line.slice(2).trim().split(/\s+/);
    return [interpreter, args.find((word) => !word.startsWith('-') && !word.includes('='))] as [
      string,
      string?,
    ];
  } finally {
    await handle.close();
  }
}
