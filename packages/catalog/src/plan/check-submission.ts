import {
  compareDiagnostics,
  type Diagnostic,
  DOCUMENT_LIMITS,
  type FunctionDefinition,
  type FunctionName,
  hasErrors,
  hasReadmePlaceholder,
  lint,
  type Path,
  README_PLACEHOLDER,
  readYaml,
} from '@krmhub/schema';
import type { DefinitionMediaType, FunctionRecord } from '../ports/records.js';
import { entryLength } from '../render/render.js';
import { PUBLISH_LIMITS, type PublishCode, publishDiagnostic } from './publish-codes.js';

export interface Submission {
  name: FunctionName;
  /** A kind in lower case matches every spelling. */
  kindFolded?: boolean;
  bytes: Uint8Array;
  mediaType: DefinitionMediaType;
  readme?: Uint8Array;
  current: FunctionRecord | undefined;
  file: string;
}

/** Returns every problem of a submission, and its definition if it is readable. */
export function checkSubmission(submission: Submission): {
  diagnostics: Diagnostic[];
  definition: FunctionDefinition | undefined;
} {
  const { name, readme, current, file } = submission;
  const { diagnostics, definition } = checkDefinition(submission);
  if (current !== undefined && current.kind !== name.kind) {
    const message = `the group ${current.group} has the kind ${current.kind}, which differs from ${name.kind} only in case`;
    diagnostics.push(publishDiagnostic('publish/kind-case', file, message));
  }
  if (readme !== undefined) diagnostics.push(...checkReadme(readme, name));
  return { diagnostics, definition };
}

function checkDefinition({ name, kindFolded = false, bytes, mediaType, file }: Submission): {
  diagnostics: Diagnostic[];
  definition: FunctionDefinition | undefined;
} {
  const { maxDefinitionBytes } = DOCUMENT_LIMITS;
  if (bytes.byteLength > maxDefinitionBytes) {
    const message = `the definition has ${bytes.byteLength} bytes; the limit is ${maxDefinitionBytes}`;
    return { diagnostics: [publishDiagnostic('publish/size', file, message)], definition: undefined };
  }
  if (mediaType === 'application/json' && !isJson(bytes)) {
    const message = 'the definition was sent as JSON but is not valid JSON';
    return { diagnostics: [publishDiagnostic('publish/media-type', file, message)], definition: undefined };
  }
  const { diagnostics, documents } = lint(bytes, { file, ruleset: 'registry' });
  const all = [...diagnostics];
  const [document] = documents;
  if (documents.length > 1 || (document !== undefined && document.kind !== 'KRMFunctionDefinition')) {
    const found = documents.length > 1 ? `${documents.length} documents` : `a ${document!.kind}`;
    all.push(
      publishDiagnostic(
        'publish/one-definition',
        file,
        `the file contains ${found}, not one KRMFunctionDefinition`,
      ),
    );
  } else if (document === undefined && !hasErrors(all)) {
    all.push(publishDiagnostic('publish/one-definition', file, 'the file contains no KRMFunctionDefinition'));
  }
  if (hasErrors(all) || document?.kind !== 'KRMFunctionDefinition')
    return { diagnostics: all, definition: undefined };
  const spelt = document.definition.names.kind;
  const asSpelt = kindFolded && spelt.toLowerCase() === name.kind ? { ...name, kind: spelt } : name;
  all.push(...checkContent(document.definition, asSpelt, bytes, file));
  return { diagnostics: all.sort(compareDiagnostics), definition: document.definition };
}

/** Checks a definition without lint errors for problems that lint cannot detect. */
function checkContent(
  definition: FunctionDefinition,
  name: FunctionName,
  bytes: Uint8Array,
  file: string,
): Diagnostic[] {
  const problems: { code: PublishCode; path: Path; message: string }[] = [];
  if (definition.group !== name.group) {
    const message = `the definition has the group ${definition.group}, but you publish to the group ${name.group}`;
    problems.push({ code: 'publish/name-mismatch', path: ['spec', 'group'], message });
  }
  if (definition.names.kind !== name.kind) {
    const message = `the definition has the kind ${definition.names.kind}, but you publish to the kind ${name.kind}`;
    problems.push({ code: 'publish/name-mismatch', path: ['spec', 'names', 'kind'], message });
  }
  const length = entryLength(definition);
  const { maxEntryLength } = PUBLISH_LIMITS;
  if (length > maxEntryLength) {
    const message = `the catalog entry would have ${length} characters; the limit is ${maxEntryLength}`;
    problems.push({ code: 'publish/entry-size', path: ['spec', 'versions'], message });
  }
  if (problems.length === 0) return [];
  // Parsed again with positions only if there are diagnostics.
  const [document] = readYaml(bytes, { file }).documents;
  return problems.map(({ code, path, message }) =>
    publishDiagnostic(code, file, message, path, document?.locate(path)),
  );
}

function checkReadme(readme: Uint8Array, name: FunctionName): Diagnostic[] {
  const { maxReadmeBytes } = PUBLISH_LIMITS;
  if (readme.byteLength > maxReadmeBytes) {
    const message = `the README has ${readme.byteLength} bytes; the limit is ${maxReadmeBytes}`;
    return [publishDiagnostic('publish/readme-size', 'README.md', message)];
  }
  const text = decode(readme);
  if (text === undefined) {
    return [publishDiagnostic('publish/readme-encoding', 'README.md', 'the README is not UTF-8')];
  }
  if (readme.includes(0)) {
    return [
      publishDiagnostic(
        'publish/readme-encoding',
        'README.md',
        'the README contains a NUL byte, so it is not text',
      ),
    ];
  }
  if (hasReadmePlaceholder(text, name)) {
    const message = `the README still says "${README_PLACEHOLDER}"`;
    return [publishDiagnostic('publish/readme-placeholder', 'README.md', message)];
  }
  return [];
}

function isJson(bytes: Uint8Array): boolean {
  const text = decode(bytes);
  if (text === undefined) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
