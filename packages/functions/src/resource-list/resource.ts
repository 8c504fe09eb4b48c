/**
 * The resources of a package, and ResourceLists: what functions read and write.
 *
 * @module
 */

import type { JsonValue } from '@krmhub/schema/definition';
import type { ResourceNode, SequenceIndent } from '@krmhub/schema/resource-yaml';
import type { ResourceIdentity, ResourcePlace } from './identity.js';
import type { ResourceBody } from './resource-body.js';

/** The document of a file that a resource was read from, whatever functions made of it. */
export interface ResourceSource {
  /** The file, relative to the package that was read. */
  readonly path: string;
  /** Counts the documents with content, from 0. */
  readonly index: number;
  /** Whether a function gave back another text. */
  readonly isChanged: boolean;
}

/** A resource of a package. It is immutable, and has none of the annotations of the orchestrator. */
export class Resource implements ResourcePlace {
  readonly path: string;
  readonly index: number | undefined;
  readonly packagePath: string;
  readonly body: ResourceBody;
  /** Undefined for what functions added, and for resources that are not of a file. */
  readonly source: ResourceSource | undefined;

  constructor(body: ResourceBody, { path, index, packagePath }: ResourcePlace, source?: ResourceSource) {
    this.body = body;
    this.source = source;
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
    return new Resource(this.body, { path, index, packagePath, ...place }, this.source);
  }

  /** Returns the resource with another content. */
  changedTo(body: ResourceBody): Resource {
    return new Resource(body, this, changed(this.source));
  }
}

/** Returns the source of what a function changed. */
export function changed(source: ResourceSource | undefined): ResourceSource | undefined {
  return source === undefined || source.isChanged ? source : { ...source, isChanged: true };
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
