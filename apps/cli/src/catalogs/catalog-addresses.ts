import type { CatalogDetail } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { defined } from '@krmhub/schema/defined';

export interface CatalogAddresses {
  /** The newest snapshot. */
  yaml: string;
  json: string;
  /** This snapshot as YAML; immutable. */
  snapshot?: string;
}

/** Returns the URLs of a catalog. */
export function catalogAddresses(registry: string, { name, newest }: CatalogDetail): CatalogAddresses {
  return {
    yaml: registry + fillPath('catalogYaml', { name }),
    json: registry + fillPath('catalogJson', { name }),
    ...defined({
      snapshot:
        newest === undefined
          ? undefined
          : registry + fillPath('snapshotCatalogYaml', { name, snapshot: String(newest.serial) }),
    }),
  };
}
