import { SharedUploads, type SharedUploadsOptions } from './shared-uploads.js';
import type { UploadSessions } from './upload-sessions.js';
import { Uploads } from './uploads.js';

/** Returns the uploads of a registry. Several processes receive them if there is a store for their pieces. */
export function openUploads({
  pieces,
  maxRowBytes,
  ...options
}: Omit<SharedUploadsOptions, 'pieces'> & {
  pieces: SharedUploadsOptions['pieces'] | undefined;
  maxRowBytes: number;
}): UploadSessions {
  return pieces === undefined
    ? new Uploads({ ...options, maxRowBytes })
    : new SharedUploads({ ...options, pieces });
}
