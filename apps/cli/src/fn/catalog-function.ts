import type { Resolution } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';

import type { PreparedFunction } from '../run/prepared-function.js';
import type { Runnable } from './runnable.js';

/** A function of a catalog. */
export interface CatalogFunction extends Runnable {
  /** Whether its functionConfig has the field `spec`; also if its schema is not known. */
  hasSpec: boolean;
}

/** Returns a function of a catalog that is ready to run. */
export function catalogFunction(
  resolution: Resolution,
  prepared: PreparedFunction,
  { folder, checkConfig }: { folder: string; checkConfig: NonNullable<Runnable['checkConfig']> },
): CatalogFunction {
  const { apiVersion, kind, release } = resolution;
  const type = `${apiVersion} ${kind}`;
  const annotation = prepared.annotation();
  return {
    name: release === undefined ? type : `${type} ${release}`,
    recorded: {
      ...defined({ image: 'container' in annotation ? annotation.container.image : undefined }),
      function: type,
    },
    checkConfig,
    hasSpec: hasSpec(resolution),
    run: (input, { signal }) => prepared.run(input, { folder, ...defined({ signal }) }),
  };
}

function hasSpec({ apiVersion, entry, declared = entry }: Resolution): boolean {
  const version = declared?.versions.find(({ name }) => apiVersion.endsWith(`/${name}`));
  const properties = version?.schema.openAPIV3Schema.properties;
  return typeof properties !== 'object' || properties === null || Object.hasOwn(properties, 'spec');
}
