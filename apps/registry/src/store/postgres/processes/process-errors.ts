import { KrmhubError } from '@krmhub/schema';

export function lost(): KrmhubError {
  return new KrmhubError('unavailable', 'the other processes of the registry removed this one', {
    hint: 'Try again in a few seconds. If the error persists, see whether the process can reach the database.',
  });
}

export function taken(): KrmhubError {
  return new KrmhubError('unavailable', 'another process uses the database', {
    hint: 'Stop that process, or use another database. Several processes need blobs in S3, with --blob-url for each.',
  });
}

export function notDrained(): KrmhubError {
  return new KrmhubError(
    'unavailable',
    'the processes of the registry did not finish storing bytes in time',
    {
      hint: 'Nothing was changed. Try again when large uploads have ended. If the error persists, see in the logs whether each process can reach the database and the object store.',
    },
  );
}
