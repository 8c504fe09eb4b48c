import type { PinnedStarlark, ScriptPin } from '@krmhub/catalog';
import {
  ARCHITECTURES,
  type Architecture,
  KrmhubError,
  OPERATING_SYSTEMS,
  type OperatingSystem,
} from '@krmhub/schema';
import { type Digest, isDigest } from '@krmhub/schema/digest';

/** An executable for one platform, pinned by digest. */
export interface PinnedExecutable {
  os: OperatingSystem;
  arch: Architecture;
  /** Its name in an archive. */
  bin: string;
  uri: string;
  sha256: Digest;
}

/** The command that runs it, and the start of the command line in a Kptfile. */
const COMMAND = 'krmhub kpt exec';
const SCRIPT = 'starlark=';

/**
 * Returns the command line that runs a function in kpt: `krmhub kpt exec OS/ARCH=URI#sha256=DIGITS&bin=NAME …`. It
 * names everything that may run, so that it means the same on every machine; kpt splits it at blanks.
 */
export function execLine(platforms: readonly PinnedExecutable[]): string {
  return [COMMAND, ...platforms.map(formatExecutable)].join(' ');
}

/** Returns the command line that runs a script in kpt: `krmhub kpt exec starlark=URI#sha256=DIGITS`. */
export function scriptLine({ reference, sha256 }: ScriptPin): string {
  return `${COMMAND} ${SCRIPT}${escapeBlanks(reference)}#sha256=${sha256.slice('sha256:'.length)}`;
}

/** Reports whether a command line is one that these functions write. */
export function isExecLine(line: string): boolean {
  return line.startsWith(`${COMMAND} `);
}

/** Parses the argument of a script; undefined if it is the argument of an executable. */
export function parseScript(text: string): PinnedStarlark | undefined {
  if (!text.startsWith(SCRIPT)) return undefined;
  const [, reference, digits] = /^(.+)#sha256=([a-f0-9]{64})$/s.exec(text.slice(SCRIPT.length)) ?? [];
  if (reference !== undefined && digits !== undefined) {
    return { type: 'starlark', reference, sha256: `sha256:${digits}` };
  }
  throw new KrmhubError('usage', `cannot read the script "${text}"`, {
    hint: `Use ${SCRIPT}URI#sha256=DIGITS, as in the output of \`krmhub kpt sync\`.`,
  });
}

/** Returns what the text of an entry pins: an image by digest, or a script or executables of these functions. */
export function pinnedCode(line = ''): { sha256: Digest; reference?: string }[] {
  const image = line.slice(line.indexOf('@') + 1);
  if (!isExecLine(line)) return isDigest(image) ? [{ sha256: image }] : [];
  try {
    const args = line.slice(COMMAND.length + 1).split(' ');
    const script = args.length === 1 ? parseScript(args[0]!) : undefined;
    return script === undefined ? args.map(parseExecutable) : [script];
  } catch {
    // Edited by hand.
    return [];
  }
}

/** Formats one argument of the command line. */
export function formatExecutable({ os, arch, bin, uri, sha256 }: PinnedExecutable): string {
  const address = escapeBlanks(uri);
  const name = bin === lastSegment(address) ? '' : `&bin=${encodeURIComponent(bin).replaceAll("'", '%27')}`;
  return `${os}/${arch}=${address}#sha256=${sha256.slice('sha256:'.length)}${name}`;
}

/** kpt splits the line as a shell does. */
function escapeBlanks(uri: string): string {
  return uri.replace(/[\s"'\\]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

const ARGUMENT = /^([a-z0-9]+)\/([a-z0-9]+)=(.+)#sha256=([a-f0-9]{64})(?:&bin=([^&]+))?$/s;

/** Parses an argument of the command line. Throws `usage`. */
export function parseExecutable(text: string): PinnedExecutable {
  const [, os, arch, uri, digits, bin] = ARGUMENT.exec(text) ?? [];
  if (os === undefined || arch === undefined || uri === undefined || digits === undefined) {
    throw new KrmhubError('usage', `cannot read the executable "${text}"`, {
      hint: 'Use OS/ARCH=URI#sha256=DIGITS, as in the output of `krmhub kpt sync`.',
    });
  }
  if (!isOneOf(OPERATING_SYSTEMS, os) || !isOneOf(ARCHITECTURES, arch)) {
    throw new KrmhubError('usage', `unknown platform ${os}/${arch}`, {
      hint: `Use one of ${OPERATING_SYSTEMS.join(', ')} and one of ${ARCHITECTURES.join(', ')}.`,
    });
  }
  return {
    os,
    arch,
    bin: bin === undefined ? lastSegment(uri) : decodeName(bin),
    uri,
    sha256: `sha256:${digits}`,
  };
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new KrmhubError('usage', `"${text}" is not a valid executable name`, { cause });
  }
}

function lastSegment(uri: string): string {
  const path = uri.replace(/[?#].*$/s, '');
  return path.slice(path.lastIndexOf('/') + 1);
}

function isOneOf<Value extends string>(known: readonly Value[], value: string): value is Value {
  return (known as readonly string[]).includes(value);
}
