import { KrmhubError } from '@krmhub/schema/error';
import type { CatalogInputs, CatalogInputsEntry, ExportedFunction } from './export-model.js';
import { SCHEMAS } from './generated/response-schemas.js';
import { fillPath } from './paths.js';
import { findMismatch } from './response-schema.js';
import { Transport, type TransportOptions } from './transport.js';

/** Limits on what is read of a registry as a whole: each with its unit. */
export const EXPORT_LIMITS = {
  /** Bytes of a line, which is a function with all its releases. */
  maxLineBytes: 134_217_728,
  maxFunctions: 1_000_000,
} as const;

export type ExportLimits = { [Name in keyof typeof EXPORT_LIMITS]: number };

/** What of a registry is larger than an answer in memory. Rejects with KrmhubErrors, as RegistryClient does. */
export class ExportClient {
  readonly #transport: Transport;

  /** The timeout is for each piece that comes, not for the whole. */
  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
  }

  get url(): string {
    return this.#transport.url;
  }

  /** The lines of every function with its releases, without their ends; each is read by `readExportedFunction`. */
  async *functionLines(): AsyncGenerator<Uint8Array, void, undefined> {
    const path = fillPath('functionsExport', {});
    yield* splitLines(this.#transport.stream(path, LINES), `${this.url}${path}`);
  }

  /** What a catalog is made from, and the lines of the entries of its sources, each for `readInputsEntry`. */
  async catalogInputs(
    name: string,
  ): Promise<{ inputs: CatalogInputs; entryLines: AsyncGenerator<Uint8Array> }> {
    const path = fillPath('catalogInputs', { name });
    const where = `${this.url}${path}`;
    const entryLines = splitLines(this.#transport.stream(path, LINES), where);
    const first = await entryLines.next();
    if (first.done === true) throw refused(where, 'there is nothing');
    return { inputs: readCatalogInputs(first.value, where), entryLines };
  }
}

/** Lines of a text that comes in pieces. `where` is what messages call it. */
export async function* splitLines(
  pieces: AsyncIterable<Uint8Array>,
  where: string,
  { maxLineBytes, maxFunctions }: ExportLimits = EXPORT_LIMITS,
): AsyncGenerator<Uint8Array, void, undefined> {
  let pending: Uint8Array[] = [];
  let size = 0;
  let count = 0;
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      if (size + end - start > maxLineBytes)
        throw refused(where, `a line has more than ${maxLineBytes} bytes`);
      if (++count > maxFunctions) throw refused(where, `there are more than ${maxFunctions} lines`);
      yield Buffer.concat([...pending, piece.subarray(start, end)]);
      pending = [];
      size = 0;
      start = end + 1;
    }
    if (start === piece.length) continue;
    pending.push(piece.subarray(start));
    size += piece.length - start;
    if (size > maxLineBytes) throw refused(where, `a line has more than ${maxLineBytes} bytes`);
  }
  if (size > 0) throw refused(where, 'it ends in the middle of a line');
}

/** The first line of the inputs of a catalog; what is not of its shape is refused. */
export function readCatalogInputs(line: Uint8Array, where: string): CatalogInputs {
  return readLine(line, 'CatalogInputs', where);
}

/** A function of a line; what is not of its shape is refused. */
export function readExportedFunction(line: Uint8Array, where: string): ExportedFunction {
  return readLine(line, 'ExportedFunction', where);
}

/** An entry of a source; what is not of its shape is refused. */
export function readInputsEntry(line: Uint8Array, where: string): CatalogInputsEntry {
  return readLine(line, 'CatalogInputsEntry', where);
}

/** Parses JSON and checks it against the schema of this name. `where` is what messages call it. */
function readLine<T>(line: Uint8Array, schema: keyof typeof SCHEMAS, where: string): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch (cause) {
    throw refused(where, 'it is no JSON', cause);
  }
  const wrong = findMismatch(value, SCHEMAS[schema]);
  if (wrong !== undefined) throw refused(where, `it lacks what is expected at "${wrong}"`);
  return value as T;
}

const LINES = 'application/x-ndjson';
const NEWLINE = 0x0a;

function refused(where: string, reason: string, cause?: unknown): KrmhubError {
  return new KrmhubError('unreachable', `what ${where} gives cannot be read: ${reason}`, {
    hint: 'Check that it is of a krmhub registry of this version, or a newer one.',
    ...(cause === undefined ? {} : { cause }),
  });
}
