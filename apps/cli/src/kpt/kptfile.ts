import { type JsonObject, type JsonValue, KrmhubError, type Position, readYaml } from '@krmhub/schema';

/** Reads the pipeline of a Kptfile with the positions of its values (kpt.dev/v1, "pipeline"). */

export const KPTFILE = 'Kptfile';

export const PIPELINE_FIELDS = ['mutators', 'validators'] as const;
export type PipelineField = (typeof PIPELINE_FIELDS)[number];

/** One function of a pipeline. */
export interface PipelineEntry {
  field: PipelineField;
  index: number;
  /** File of the functionConfig, relative to the Kptfile; absent for a `configMap` or no configuration. */
  configPath?: string;
  /** Written by the user or by an earlier run; null for a key without a value. */
  image?: string | null;
  exec?: string | null;
  position: Position;
}

export interface Kptfile {
  /** Name for messages. */
  file: string;
  /** Exactly as in the file, with a byte order mark if it has one. */
  text: string;
  value: JsonObject;
  entries: PipelineEntry[];
  /** Returns the offsets in `text` of a key or a value. Throws if it does not exist. */
  offsets(path: readonly (string | number)[], target?: 'key' | 'value'): { start: number; end: number };
}

const BYTE_ORDER_MARK = '\ufeff';

/** Throws `invalid-document` with every problem of the text. */
export function readKptfile(bytes: Uint8Array, file: string): Kptfile {
  const { documents, diagnostics } = readYaml(bytes, { file });
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0)
    throw new KrmhubError('invalid-document', `cannot read ${file}`, { diagnostics: errors });
  const [document] = documents;
  if (document === undefined || documents.length > 1) throw invalid(file, 'it must have one document');
  const { value } = document;
  if (!isObject(value) || value.kind !== 'Kptfile') throw invalid(file, 'its kind is not Kptfile');
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  // Positions do not count a byte order mark.
  const skipped = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  const starts = lineStarts(text, skipped);
  const offset = ({ line, column }: Position) => starts[line - 1]! + column - 1;
  return {
    file,
    text,
    value,
    entries: readEntries(file, value, (path) => document.locate(path)?.start ?? { line: 1, column: 1 }),
    offsets(path, target = 'value') {
      const range = document.locate(path, target);
      if (range === undefined) throw new TypeError(`${file} has no ${path.join('.')}`);
      return { start: offset(range.start), end: offset(range.end) };
    },
  };
}

function readEntries(
  file: string,
  { pipeline }: JsonObject,
  positionOf: (path: readonly (string | number)[]) => Position,
): PipelineEntry[] {
  if (pipeline === undefined || pipeline === null) return [];
  if (!isObject(pipeline)) throw invalid(file, 'its pipeline is not a mapping');
  return PIPELINE_FIELDS.flatMap((field) => {
    const listed = pipeline[field];
    if (listed === undefined || listed === null) return [];
    if (!Array.isArray(listed)) throw invalid(file, `its pipeline.${field} is not a list`);
    return listed.map((entry, index) => {
      const name = `pipeline.${field}[${index}]`;
      if (!isObject(entry)) throw invalid(file, `${name} is not a mapping`);
      const { image, exec, configPath } = entry;
      for (const [key, value] of Object.entries({ image, exec, configPath })) {
        if (value !== undefined && value !== null && typeof value !== 'string')
          throw invalid(file, `${name}.${key} is not a string`);
      }
      if (typeof image === 'string' && typeof exec === 'string')
        throw invalid(file, `${name} has both image and exec`);
      return {
        field,
        index,
        ...(typeof configPath === 'string' ? { configPath } : {}),
        ...(image === undefined ? {} : { image: image as string | null }),
        ...(exec === undefined ? {} : { exec: exec as string | null }),
        position: positionOf(['pipeline', field, index]),
      };
    });
  });
}

function lineStarts(text: string, first: number): number[] {
  const starts = [first];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(file: string, reason: string): KrmhubError {
  return new KrmhubError('invalid-document', `cannot read ${file}: ${reason}`, {
    hint: 'See the fields of a Kptfile at https://kpt.dev/reference/schema/kptfile/',
  });
}
