import { YAML_LIMITS, type YamlLimits } from '../limits.js';
import { Reporter } from './reporter.js';
import { decodeUtf8, findForbiddenCharacter, SourceText } from './source.js';

export interface ReadOptions {
  /** Name of the file in diagnostics. */
  file: string;
  limits?: Partial<YamlLimits>;
}

export interface OpenedText {
  limits: YamlLimits;
  reporter: Reporter;
  /** Decodes the bytes of a file. Returns undefined for invalid text; the reporter has the reason. */
  source: SourceText | undefined;
}

/** Decodes bytes to text, and checks size, encoding, and characters. */
export function openText(
  input: Uint8Array,
  options: ReadOptions,
  maxBytes: 'maxSourceBytes' | 'maxCatalogBytes',
): OpenedText {
  const limits = { ...YAML_LIMITS, ...options.limits };
  const refuse = (source?: SourceText) => new Reporter(options.file, limits.maxDiagnostics, source);

  if (input.byteLength > limits[maxBytes]) {
    const reporter = refuse();
    reporter.report(
      'yaml/too-large',
      `the file has ${input.byteLength} bytes; the limit is ${limits[maxBytes]}`,
    );
    return { limits, reporter, source: undefined };
  }

  const decoded = decodeUtf8(input);
  if ('problem' in decoded) {
    if (decoded.problem === 'utf-16') {
      const reporter = refuse();
      reporter.report('yaml/encoding', 'the file is UTF-16, not UTF-8');
      return { limits, reporter, source: undefined };
    }
    const source = new SourceText(decoded.before);
    const reporter = refuse(source);
    const { line, column } = source.position(decoded.before.length);
    const message = `the byte at offset ${decoded.byte} (line ${line}, column ${column}) is not UTF-8`;
    reporter.report('yaml/encoding', message, decoded.before.length);
    return { limits, reporter, source: undefined };
  }

  const source = new SourceText(decoded.text);
  const reporter = refuse(source);
  const forbidden = findForbiddenCharacter(decoded.text);
  if (forbidden !== undefined) {
    const message =
      forbidden.name === 'U+000D'
        ? 'some parsers treat a carriage return without a line feed as a line break, others do not'
        : `the character ${forbidden.name} is not allowed in YAML`;
    reporter.report('yaml/control-character', message, forbidden.offset);
    return { limits, reporter, source: undefined };
  }
  return { limits, reporter, source };
}
