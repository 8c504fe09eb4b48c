import { type Engine, hasImage, pullImage } from '@krmhub/functions';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { Progress } from '../io/progress.js';

/** Pulls an image by its digest, unless the engine has it. Throws `unavailable` if it is missing and may not be pulled. */
export async function requireImage(
  io: Io,
  engine: Engine,
  { name, image, offline }: { name: string; image: string; offline: boolean },
): Promise<void> {
  if (offline) {
    if (await hasImage(engine, image)) return;
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
      onLine: (line) => void progress.tick(() => `pulling ${image}: ${line}`),
    });
  } finally {
    await progress.clear();
  }
}
