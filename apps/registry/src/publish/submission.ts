import { isUtf8 } from 'node:buffer';
import { BUNDLE_LIMITS, type DefinitionMediaType, PUBLISH_LIMITS } from '@krmhub/catalog';
import { DOCUMENT_LIMITS, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RegistryContext } from '../http/context.js';
import { bodyMediaType, mediaTypeEssence, readBody } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import type { SubmittedBundle } from './trust/release-bundles.js';

export interface Submission {
  bytes: Uint8Array;
  mediaType: DefinitionMediaType;
  readme?: Uint8Array;
  /** Markdown. */
  notes?: string;
  /** Signatures and attestations by the publisher. Each must be evidence. */
  bundles?: readonly SubmittedBundle[];
  /** Bundles that others pushed as referrers. They count only if their signer is trusted or pinned already. */
  others?: readonly SubmittedBundle[];
}

const FORM_HINT =
  'Send one file "definition", at most one file "readme" and one "notes", and any number of files "bundle".';

const PARTS: ReadonlySet<string> = new Set(['definition', 'readme', 'notes', 'bundle']);

const MEDIA_TYPES: ReadonlyMap<string, DefinitionMediaType> = new Map([
  ['application/yaml', 'application/yaml'],
  ['text/yaml', 'application/yaml'],
  ['application/x-yaml', 'application/yaml'],
  ['text/x-yaml', 'application/yaml'],
  ['application/json', 'application/json'],
]);

/** Reads the body of a publish: the exact bytes of a definition, alone or as a form with a README. */
export async function readSubmission(c: RegistryContext): Promise<Submission> {
  const essence = bodyMediaType(c);
  if (essence === 'multipart/form-data') return readForm(c);
  const mediaType = essence === undefined ? undefined : MEDIA_TYPES.get(essence);
  if (mediaType === undefined) {
    throw new KrmhubError(
      'unsupported-media-type',
      `unsupported media type of a definition: ${essence ?? '(none)'}`,
      {
        hint: 'Send it as application/yaml, application/json, or multipart/form-data.',
      },
    );
  }
  return { bytes: await readBody(c, DOCUMENT_LIMITS.maxDefinitionBytes), mediaType };
}

async function readForm(c: RegistryContext): Promise<Submission> {
  const { maxDefinitionBytes } = DOCUMENT_LIMITS;
  const { maxReadmeBytes, maxNotesBytes } = PUBLISH_LIMITS;
  const body = await readBody(
    c,
    maxDefinitionBytes +
      maxReadmeBytes +
      maxNotesBytes +
      BUNDLE_LIMITS.maxPerPublish * BUNDLE_LIMITS.maxBytes +
      SERVER_LIMITS.maxMultipartOverheadBytes,
  );
  const form = await parseForm(body, c.req.header('content-type') ?? '');
  const problems: string[] = [];
  for (const name of new Set(form.keys())) {
    if (!PARTS.has(name)) {
      problems.push(`the part ${JSON.stringify(name.slice(0, 100))} is unknown`);
    }
  }
  const definition = onlyFile(form, 'definition', problems);
  const readme = onlyFile(form, 'readme', problems);
  const notes = onlyFile(form, 'notes', problems);
  const bundles = files(form, 'bundle', problems);
  if (bundles.length > BUNDLE_LIMITS.maxPerPublish) {
    problems.push(`more than ${BUNDLE_LIMITS.maxPerPublish} parts "bundle"`);
  }
  if (definition === undefined && !form.has('definition')) problems.push('the part "definition" is missing');
  const mediaType = definition && fileMediaType(definition);
  if (definition !== undefined && mediaType === undefined) {
    problems.push(
      `the part "definition" is ${definition.type}, expected application/yaml or application/json`,
    );
  }
  if (problems.length > 0 || definition === undefined || mediaType === undefined) {
    throw new KrmhubError('invalid-request', `invalid form: ${problems.join('; ')}`, {
      hint: FORM_HINT,
    });
  }
  return {
    bytes: await fileBytes(definition, 'definition', maxDefinitionBytes),
    mediaType,
    ...defined({
      readme: readme === undefined ? undefined : await fileBytes(readme, 'readme', maxReadmeBytes),
      notes: notes === undefined ? undefined : readText(await fileBytes(notes, 'notes', maxNotesBytes)),
    }),
    bundles: await Promise.all(
      bundles.map(async (one) => ({ bytes: await fileBytes(one, 'bundle', BUNDLE_LIMITS.maxBytes) })),
    ),
  };
}

function readText(bytes: Uint8Array): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes);
  throw new KrmhubError('invalid-request', 'the part "notes" is not UTF-8 text');
}

async function parseForm(body: Uint8Array<ArrayBuffer>, contentType: string): Promise<FormData> {
  checkParts(Buffer.from(body.buffer, body.byteOffset, body.byteLength), contentType);
  try {
    return await new Response(body, { headers: { 'Content-Type': contentType } }).formData();
  } catch (cause) {
    throw new KrmhubError('invalid-request', 'the body is not a multipart form', { cause });
  }
}

/** Reading a form takes time for each part and header line, so they are counted first (RFC 2046, 5.1.1). */
function checkParts(body: Buffer, contentType: string): void {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return;
  const delimiter = `--${boundary}`;
  const { maxFormParts, maxPartHeaderBytes } = SERVER_LIMITS;
  let parts = 0;
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    const start = at + delimiter.length;
    if (body.toString('latin1', start, start + 2) === '--') return;
    parts += 1;
    if (parts > maxFormParts) {
      throw new KrmhubError('invalid-request', `the form has more than ${maxFormParts} parts`, {
        hint: FORM_HINT,
      });
    }
    const head = body.subarray(start, start + maxPartHeaderBytes);
    if (head.length === maxPartHeaderBytes && !head.includes('\r\n\r\n')) {
      throw new KrmhubError('too-large', `the header of a part exceeds ${maxPartHeaderBytes} bytes`);
    }
  }
}

/** A part without a file name is decoded as text, so its exact bytes are lost. */
function onlyFile(form: FormData, name: string, problems: string[]): File | undefined {
  const count = form.getAll(name).length;
  if (count > 1) problems.push(`the part "${name}" appears ${count} times`);
  return files(form, name, problems)[0];
}

function files(form: FormData, name: string, problems: string[]): File[] {
  return form.getAll(name).flatMap((part) => {
    if (typeof part !== 'string') return [part];
    problems.push(`the part "${name}" has no file name`);
    return [];
  });
}

/** Programs that do not know YAML send it as plain bytes; then the name of the file decides. */
function fileMediaType(file: File): DefinitionMediaType | undefined {
  const essence = mediaTypeEssence(file.type);
  if (essence !== undefined && essence !== 'application/octet-stream') return MEDIA_TYPES.get(essence);
  return file.name.endsWith('.json') ? 'application/json' : 'application/yaml';
}

async function fileBytes(file: File, name: string, maxBytes: number): Promise<Uint8Array> {
  if (file.size > maxBytes)
    throw new KrmhubError('too-large', `the part "${name}" exceeds ${maxBytes} bytes`);
  return new Uint8Array(await file.arrayBuffer());
}
