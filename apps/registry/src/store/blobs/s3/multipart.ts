import type { Digest } from '@krmhub/schema';
import { type BlobArea, objectName } from './area.js';
import { isIntact } from './is-intact.js';
import { S3_LIMITS } from './limits.js';
import { abortUpload, completeUpload, createUpload, headObject, type S3Part, uploadPart } from './objects.js';
import { S3Error } from './s3-error.js';
import { Slots } from './slots.js';

/** Parts of all uploads that are in memory. */
const slots = new Slots(S3_LIMITS.maxParts);
/** Parts of one upload that are sent at the same time. */
const PARTS_AT_ONCE = 2;

export interface Multipart {
  /** Sends all parts. No reader sees them. */
  send(): Promise<void>;
  /** Makes the parts a blob. */
  complete(): Promise<void>;
  /** Removes the parts. */
  abort(): Promise<void>;
}

/** Uploads a large blob in parts. `read` returns a range of its bytes. */
export function multipart(
  area: BlobArea,
  digest: Digest,
  size: number,
  read: (start: number, end: number) => Promise<Uint8Array>,
): Multipart {
  const { client } = area;
  const key = objectName(area.area, digest);
  let upload: { key: string; id: string } | undefined;
  let parts: S3Part[] = [];

  const sendPart = async (number: number): Promise<S3Part> => {
    const release = await slots.take();
    try {
      const start = (number - 1) * S3_LIMITS.partBytes;
      const bytes = await read(start, Math.min(start + S3_LIMITS.partBytes, size));
      return await uploadPart(client, upload!, number, bytes);
    } finally {
      release();
    }
  };

  const send = async (): Promise<void> => {
    upload = { key, id: await createUpload(client, key) };
    const count = Math.ceil(size / S3_LIMITS.partBytes);
    const sent: S3Part[] = [];
    let next = 1;
    const sendNext = async (): Promise<void> => {
      while (next <= count) sent.push(await sendPart(next++));
    };
    const senders = await Promise.allSettled(Array.from({ length: PARTS_AT_ONCE }, sendNext));
    const failed = senders.find((sender) => sender.status === 'rejected');
    if (failed !== undefined) {
      await abort();
      throw failed.reason;
    }
    parts = sent.sort((a, b) => a.number - b.number);
  };

  const abort = async (): Promise<void> => {
    const open = upload;
    upload = undefined;
    // The next start removes what stays.
    if (open !== undefined) await abortUpload(client, open).catch(() => undefined);
  };

  const complete = async (): Promise<void> => {
    if (upload === undefined) throw new Error('the parts were not sent');
    const outcome = await completeUpload(client, upload, parts, false);
    if (outcome === 'created') return;
    if (outcome === 'lost' && (await headObject(client, key)) !== size) {
      throw new S3Error('the store lost a multipart upload');
    }
    if (await isIntact(area, digest, size)) {
      await abort();
      return;
    }
    // The stored object is damaged. A refused completion may have ended the upload.
    const again = await completeUpload(client, upload, parts, true).catch(() => 'lost' as const);
    if (again === 'created') return;
    await abort();
    await send();
    if ((await completeUpload(client, upload, parts, true)) !== 'created') {
      throw new S3Error('the store did not replace a damaged object');
    }
  };

  return { send, complete, abort };
}
