/** What a process gets to run a script. */
export interface ScriptTask {
  name: string;
  script: Uint8Array;
  /** A ResourceList. */
  input: Uint8Array;
  /** `ctx.environment`. */
  environment: Readonly<Record<string, string>>;
}

interface Header {
  name: string;
  /** Size of the script, which follows the line of the header. The input follows the script. */
  scriptBytes: number;
  environment: Readonly<Record<string, string>>;
}

/** Returns the standard input of the process. */
export function writeTask({ name, script, input, environment }: ScriptTask): Buffer {
  const header: Header = { name, scriptBytes: script.byteLength, environment };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), script, input]);
}

/** Reads what `writeTask` wrote. */
export function readTask(bytes: Buffer): ScriptTask {
  const start = bytes.indexOf('\n') + 1;
  const { name, scriptBytes, environment } = JSON.parse(bytes.toString('utf8', 0, start)) as Header;
  const end = start + scriptBytes;
  return { name, script: bytes.subarray(start, end), input: bytes.subarray(end), environment };
}
