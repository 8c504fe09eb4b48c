import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { AuditRequest } from './client-requests.js';
import type { CatalogInputs, CatalogInputsEntry, ExportedFunction } from './export-model.js';
import { SCHEMAS } from './generated/response-schemas.js';
import type { AuditRow } from './model.js';
import { fillPath } from './paths.js';
import { findMismatch } from './response-schema.js';
import { Transport, type TransportOptions } from './transport.js';

/** Limits for exports of a registry. */
export const EXPORT_LIMITS = {
  /** Bytes of a line: one function with all its releases. */
  maxLineBytes: 134_217_728,
  maxFunctions: 1_000_000,
} as const;

export type ExportLimits = { [Name in keyof typeof EXPORT_LIMITS]: number };

/** A client for exports, which are too large for memory and therefore streamed. Rejects with KrmhubErrors. */
export class ExportClient {
  readonly #transport: Transport;

  /** The timeout is for each chunk, not for the whole response. */
  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
  }

  get url(): string {
    return this.#transport.url;
  }

  /** One line per function, for `readExportedFunction`. Line ends are removed. */
  async *functionLines(): AsyncGenerator<Uint8Array, void, undefined> {
    const path = fillPath('functionsExport', {});
    yield* splitLines(this.#transport.stream(path, LINES), `${this.url}${path}`);
  }

  /** The rows of the audit log that match, newest first. */
  async *auditRows(request: AuditRequest): AsyncGenerator<AuditRow, void, undefined> {
    const path = fillPath('audit', {});
    const query = new URLSearchParams({ ...request });
    const lines = this.#transport.stream(`${path}?${query}`, LINES);
    const where = `${this.url}${path}`;
    for await (const line of splitLines(lines, where)) yield readLine(line, 'AuditRow', where);
  }

  /** The inputs of a catalog, and one line per entry of its sources, for `readInputsEntry`. */
  async catalogInputs(
    name: string,
  ): Promise<{ inputs: CatalogInputs; entryLines: AsyncGenerator<Uint8Array> }> {
    const path = fillPath('catalogInputs', { name });
    const where = `${this.url}${path}`;
    const entryLines = splitLines(this.#transport.stream(path, LINES), where);
    const first = await entryLines.next();
    if (first.done === true) throw unreadable(where, 'it is empty');
    return { inputs: readCatalogInputs(first.value, where), entryLines };
  }
}

/** Splits streamed text into lines. `where` names the text in messages. */
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
      if (size + end - start > maxLineBytes) throw unreadable(where, `a line exceeds ${maxLineBytes} bytes`);
      if (++count > maxFunctions) throw unreadable(where, `it has more than ${maxFunctions} lines`);
      yield Buffer.concat([...pending, piece.subarray(start, end)]);
      pending = [];
      size = 0;
      start = end + 1;
    }
    if (start === piece.length) continue;
    pending.push(piece.subarray(start));
    size += piece.length - start;
    if (size > maxLineBytes) throw unreadable(where, `a line exceeds ${maxLineBytes} bytes`);
  }
  if (size > 0) throw unreadable(where, 'it ends in the middle of a line');
}

/** Parses the first line of the inputs of a catalog. Throws `unreachable` for an invalid line. */
export function readCatalogInputs(line: Uint8Array, where: string): CatalogInputs {
  return readLine(line, 'CatalogInputs', where);
}

/** Parses a function. Throws `unreachable` for an invalid line. */
export function readExportedFunction(line: Uint8Array, where: string): ExportedFunction {
  return readLine(line, 'ExportedFunction', where);
}

/** Parses an entry of a source. Throws `unreachable` for an invalid line. */
export function readInputsEntry(line: Uint8Array, where: string): CatalogInputsEntry {
  return readLine(line, 'CatalogInputsEntry', where);
}

/** Parses JSON and checks it against the schema of this name. */
function readLine<T>(line: Uint8Array, schema: keyof typeof SCHEMAS, where: string): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch (cause) {
    throw unreadable(where, 'not valid JSON', cause);
  }
  const wrong = findMismatch(value, SCHEMAS[schema]);
  if (wrong !== undefined) throw unreadable(where, `missing or of the wrong type: "${wrong}"`);
  return value as T;
}

const LINES = 'application/x-ndjson';
const NEWLINE = 0x0a;

function unreadable(where: string, reason: string, cause?: unknown): KrmhubError {
  return new KrmhubError('unreachable', `cannot read ${where}: ${reason}`, {
    hint: 'Export it from a krmhub registry of this version or newer.',
    ...defined({ cause }),
  });
}
