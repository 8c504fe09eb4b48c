/**
 * The resources of a package, and ResourceLists: what functions read and write.
 *
 * @module
 */

import type { JsonValue } from '@krmhub/schema/definition';
import type { ResourceNode, SequenceIndent } from '@krmhub/schema/resource-yaml';
import type { ResourceIdentity, ResourcePlace } from './identity.js';
import type { ResourceBody } from './resource-body.js';

/** A resource of a package. It is immutable, and has none of the annotations of the orchestrator. */
export class Resource implements ResourcePlace {
  readonly path: string;
  readonly index: number | undefined;
  readonly packagePath: string;
  readonly body: ResourceBody;

  constructor(body: ResourceBody, { path, index, packagePath }: ResourcePlace) {
    this.body = body;
    this.path = path;
    this.index = index;
    this.packagePath = packagePath;
  }

  get identity(): ResourceIdentity {
    return this.body.identity;
  }

  get seqIndent(): SequenceIndent {
    return this.body.seqIndent;
  }

  /** Returns the document as kyaml writes it, with a line end. */
  text(): string {
    return this.body.text();
  }

  /** Returns the YAML model; it must not be changed. */
  node(): ResourceNode {
    return this.body.node();
  }

  value(): JsonValue {
    return this.body.value();
  }

  /** Returns the resource in another place. */
  at(place: Partial<ResourcePlace>): Resource {
    const { path, index, packagePath } = this;
    return new Resource(this.body, { path, index, packagePath, ...place });
  }
}

/** kustomize needs no apiVersion and kind in its own files. */
const KUSTOMIZATION = /(?:^|\/)(?:kustomization\.ya?ml|Kustomization)$/;

/** Reports what keeps a document from being a Kubernetes resource, as kpt does; undefined for a resource. */
export function resourceProblem({ identity, path }: Resource): string | undefined {
  const { apiVersion, kind, name } = identity;
  if (KUSTOMIZATION.test(path)) return undefined;
  if (apiVersion === '') return 'resource must have `apiVersion`';
  if (kind === '') return 'resource must have `kind`';
  if (name === '' && !apiVersion.startsWith('kustomize.config.k8s.io/')) {
    return 'resource must have `metadata.name`';
  }
  return undefined;
}
