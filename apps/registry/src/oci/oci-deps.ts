import type { RegistryParts } from '../server/environment.js';
import type { RepositoryAccess } from './access.js';

/** What the handlers of `/v2` stand on. */
export type OciDeps = RegistryParts & { access: RepositoryAccess };
