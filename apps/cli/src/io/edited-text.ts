import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { decodeText } from '@krmhub/functions/resource-list/decode-text';
import { openResourceFile } from '@krmhub/schema/edit-yaml';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { documentRoot, readDocument } from '@krmhub/schema/resource-yaml';

/**
 * Returns what to write over an existing file, so that it has the value of a document: comments, order, and notation of
 * what does not change stay. Returns the document as it is if there is no file with one document.
 */
export async function editedText(io: WorkingFolder, name: string, document: string): Promise<string> {
  try {
    const bytes = await readFileUpTo(io, name);
    if (bytes.byteLength > DOCUMENT_LIMITS.maxSourceBytes) return document;
    const file = openResourceFile(decodeText(bytes, name), name);
    if (file.documents.length !== 1) return document;
    file.replace(0, documentRoot(readDocument(document, name)!));
    return file.edited().text;
  } catch (error) {
    if (error instanceof KrmhubError) return document;
    throw error;
  }
}
