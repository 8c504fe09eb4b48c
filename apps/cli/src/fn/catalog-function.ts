import type { Resolution } from '../resolve/resolution.js';
import type { PreparedFunction } from '../run/runner.js';
import type { Runnable } from './runnable.js';

/** Returns a function of a catalog that is ready to run. */
export function catalogFunction(
  resolution: Resolution,
  prepared: PreparedFunction,
  { folder, checkConfig }: { folder: string; checkConfig: NonNullable<Runnable['checkConfig']> },
): Runnable {
  const { apiVersion, kind, release } = resolution;
  const type = `${apiVersion} ${kind}`;
  const annotation = prepared.annotation();
  return {
    name: release === undefined ? type : `${type} ${release}`,
    recorded: {
      ...('container' in annotation ? { image: annotation.container.image } : {}),
      function: type,
    },
    checkConfig,
    run: (input, { signal }) => prepared.run(input, { folder, ...(signal === undefined ? {} : { signal }) }),
  };
}
