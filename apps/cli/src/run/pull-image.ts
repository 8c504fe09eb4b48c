import { type Engine, hasImage, pullImage } from '@krmhub/functions';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { Progress } from '../io/progress.js';

export interface ImageRequest {
  /** `APIVERSION KIND`, for messages. */
  name: string;
  image: string;
  /** Pull nothing. */
  offline: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Pulls an image by its digest, unless the engine has it. Throws `unavailable` if it is missing and may not be pulled.
 */
export async function requireImage(
  io: Io,
  engine: Engine,
  { name, image, offline, signal }: ImageRequest,
): Promise<void> {
  if (offline) {
    if (await hasImage(engine, image, signal)) return;
    throw new KrmhubError(
      'unavailable',
      `cannot run ${name}: ${engine.engine} does not have the image ${image}`,
      {
        hint: `Pull it first: ${engine.engine} pull ${image}`,
      },
    );
  }
  const progress = new Progress(io);
  await progress.show(`pulling ${image}`);
  try {
    await pullImage(engine, image, {
      ...defined({ signal }),
      onLine: (line) => void progress.tick(() => `pulling ${image}: ${line}`),
    });
  } finally {
    await progress.clear();
  }
}
