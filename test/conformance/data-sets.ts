import { gzipSync } from 'node:zlib';
import { type Algorithm, digestOf, someBytes } from './oci-requests.js';

/** The artifacts that the conformance suite pushes, one per kind. */

export const IMAGE = 'application/vnd.oci.image.manifest.v1+json';
export const INDEX = 'application/vnd.oci.image.index.v1+json';
export const IMAGE_CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
const NOT_DISTRIBUTABLE = 'application/vnd.oci.image.layer.nondistributable.v1.tar';
const EMPTY = 'application/vnd.oci.empty.v1+json';
export const EMPTY_BYTES = Buffer.from('{}');

type Document = Record<string, unknown>;

export interface Descriptor extends Document {
  mediaType: string;
  digest: string;
  size: number;
}

export interface DataManifest {
  bytes: Buffer;
  digest: string;
  mediaType: string;
  tags: readonly string[];
  /** Digest of its subject. */
  subject?: string;
  /** As a list of referrers shows it. */
  artifactType?: string;
  annotations?: Record<string, string>;
}

export interface DataSet {
  name: string;
  algorithm: Algorithm;
  /** By digest. */
  blobs: ReadonlyMap<string, Buffer>;
  /** In push order: a manifest comes after its parts. */
  manifests: readonly DataManifest[];
}

class Builder {
  readonly algorithm: Algorithm;
  readonly blobs = new Map<string, Buffer>();
  readonly manifests: DataManifest[] = [];

  constructor(algorithm: Algorithm = 'sha256') {
    this.algorithm = algorithm;
  }

  blob(bytes: Buffer, mediaType: string): Descriptor {
    const described = this.unpushed(bytes, mediaType);
    this.blobs.set(described.digest, bytes);
    return described;
  }

  unpushed(bytes: Buffer, mediaType: string): Descriptor {
    return { mediaType, digest: digestOf(bytes, this.algorithm), size: bytes.byteLength };
  }

  empty(): Descriptor {
    return this.blob(EMPTY_BYTES, EMPTY);
  }

  layer(compressed = true): Descriptor {
    const bytes = someBytes(600);
    return compressed ? this.blob(gzipSync(bytes), `${LAYER}+gzip`) : this.blob(bytes, LAYER);
  }

  config(layers: number, more: Document = {}): Descriptor {
    const nothing = digestOf(Buffer.alloc(0), this.algorithm);
    const diffs = Array.from({ length: layers }, () => nothing);
    const config = {
      architecture: 'amd64',
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: diffs },
      ...more,
    };
    return this.blob(Buffer.from(JSON.stringify(config)), IMAGE_CONFIG);
  }

  image(more: Document = {}, tags: readonly string[] = []): Descriptor {
    const layers = [this.layer(), this.layer()];
    return this.push(IMAGE, { config: this.config(2), layers, ...more }, tags);
  }

  artifact(more: Document = {}, tags: readonly string[] = []): Descriptor {
    const content = this.blob(someBytes(300), 'application/vnd.example.content');
    const document = {
      artifactType: 'application/vnd.example.type',
      config: this.empty(),
      layers: [content],
    };
    return this.push(IMAGE, { ...document, ...more }, tags);
  }

  push(mediaType: string, document: Document, tags: readonly string[] = []): Descriptor {
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...document }));
    const described = this.unpushed(bytes, mediaType);
    const { subject, config, annotations, artifactType } = document as {
      subject?: Descriptor;
      config?: Descriptor;
      annotations?: Record<string, string>;
      artifactType?: string;
    };
    const type = artifactType ?? config?.mediaType;
    this.manifests.push({
      bytes,
      digest: described.digest,
      mediaType,
      tags,
      ...(subject !== undefined && { subject: subject.digest }),
      ...(type !== undefined && { artifactType: type }),
      ...(annotations !== undefined && { annotations }),
    });
    return described;
  }
}

const platform = (architecture: string) => ({ platform: { os: 'linux', architecture } });

function index(builder: Builder, more: Document = {}, tags: readonly string[] = ['index']): Descriptor {
  const children = ['amd64', 'arm64'].map((one) => ({ ...builder.image(), ...platform(one) }));
  return builder.push(INDEX, { manifests: children, ...more }, tags);
}

const kinds: Record<string, (builder: Builder) => void> = {
  'an image': (builder) => {
    builder.image({}, ['image']);
  },
  'an image with uncompressed layers': (builder) => {
    const layers = [builder.layer(false), builder.layer(false)];
    builder.push(IMAGE, { config: builder.config(2), layers }, ['image']);
  },
  'a manifest of nearly four mebibytes': (builder) => {
    const text = () => someBytes(5_000).toString('hex');
    const annotations = Object.fromEntries(
      Array.from({ length: 390 }, (_, number) => [`org.example.large.${number}`, text()]),
    );
    builder.image({ annotations }, ['image']);
  },
  'an index of two platforms': (builder) => {
    index(builder);
  },
  'an index of indexes': (builder) => {
    const inner = [1, 2].map(() => builder.push(INDEX, { manifests: [builder.image(), builder.image()] }));
    builder.push(INDEX, { manifests: inner }, ['index']);
  },
  'an index of nothing': (builder) => {
    builder.push(INDEX, { manifests: [] }, ['index']);
  },
  'an artifact': (builder) => {
    builder.artifact({}, ['artifact']);
  },
  'an index of artifacts': (builder) => {
    const children = ['amd64', 'arm64'].map((one) => ({ ...builder.artifact(), ...platform(one) }));
    const artifactType = 'application/vnd.example.type';
    builder.push(INDEX, { artifactType, manifests: children }, ['artifact-index']);
  },
  'an artifact whose configuration and layer are the empty object': (builder) => {
    builder.artifact({ layers: [builder.empty()] }, ['artifact']);
  },
  'artifacts that speak of an image': (builder) => {
    const subject = builder.image({}, ['image']);
    for (const [number, type] of ['sbom', 'signature', 'signature'].entries()) {
      const artifactType = `application/vnd.example.${type}+json`;
      const annotations = { 'org.example.number': String(number), 'org.example.test': 'referrers' };
      builder.artifact({ artifactType, subject, annotations }, number === 0 ? ['tagged-artifact'] : []);
    }
    builder.image({ subject, annotations: { 'org.example.number': '3' } });
  },
  'an index that speaks of another, as do the images in it': (builder) => {
    const subject = index(builder);
    const common = {
      subject,
      artifactType: 'application/vnd.example.type',
      annotations: { 'org.example.a': 'b' },
    };
    const children = ['amd64', 'arm64'].map((one) => ({ ...builder.image(common), ...platform(one) }));
    builder.push(INDEX, { ...common, manifests: children }, ['tagged-artifact']);
  },
  'an artifact that speaks of what is not there': (builder) => {
    const subject = builder.unpushed(someBytes(100), IMAGE);
    builder.artifact({ subject, annotations: { 'org.example.missing': 'subject' } }, ['tagged-artifact']);
  },
  'an image with data in its descriptors': (builder) => {
    const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', unique: someBytes(8) }));
    const layer = someBytes(100);
    const withData = (bytes: Buffer, mediaType: string) => ({
      ...builder.blob(bytes, mediaType),
      data: bytes.toString('base64'),
    });
    const document = { config: withData(config, IMAGE_CONFIG), layers: [withData(layer, LAYER)] };
    builder.push(IMAGE, document, ['image']);
  },
  'an image with layers that may not be distributed': (builder) => {
    const elsewhere = ['', '+gzip'].map((coding) => ({
      ...builder.unpushed(someBytes(500), NOT_DISTRIBUTABLE + coding),
      urls: ['https://registry.example.com/layer'],
    }));
    builder.push(IMAGE, { config: builder.config(3), layers: [...elsewhere, builder.layer()] }, ['image']);
  },
  'an image and an index with unknown fields': (builder) => {
    const unknown = () => ({ [`field-${someBytes(4).toString('hex')}`]: someBytes(4).toString('hex') });
    const child = () =>
      builder.push(IMAGE, {
        config: { ...builder.config(1, unknown()), ...unknown() },
        layers: [{ ...builder.layer(), ...unknown() }],
        ...unknown(),
      });
    const children = ['amd64', 'arm64'].map((one) => ({ ...child(), ...platform(one), ...unknown() }));
    builder.push(INDEX, { manifests: children, ...unknown() }, ['index']);
  },
  'an image without layers': (builder) => {
    builder.push(IMAGE, { config: builder.config(0, { unique: someBytes(8) }), layers: [] }, ['image']);
  },
};

/** New bytes are made each time; the empty object is the same in all. */
export const dataSets: readonly DataSet[] = [
  ...Object.entries(kinds).map(([name, build]) => dataSet(name, new Builder(), build)),
  dataSet('an index, images and blobs with sha512 digests', new Builder('sha512'), (builder) => {
    index(builder, {}, []);
  }),
];

function dataSet(name: string, builder: Builder, build: (builder: Builder) => void): DataSet {
  build(builder);
  const { algorithm, blobs, manifests } = builder;
  return { name, algorithm, blobs, manifests };
}

export function dataSetOf(name: string): DataSet {
  const found = dataSets.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no data set is ${name}`);
  return found;
}

/** The expected referrers of each subject. */
export function referrersIn({ manifests }: DataSet): Map<string, DataManifest[]> {
  const found = new Map<string, DataManifest[]>();
  for (const manifest of manifests) {
    if (manifest.subject === undefined) continue;
    found.set(manifest.subject, [...(found.get(manifest.subject) ?? []), manifest]);
  }
  return found;
}

/** A new image of one layer, with further fields for its manifest. */
export function newImage(
  more: Document = {},
  algorithm: Algorithm = 'sha256',
): { blobs: ReadonlyMap<string, Buffer>; manifest: DataManifest; descriptor: Descriptor } {
  const builder = new Builder(algorithm);
  const descriptor = builder.image(more);
  return { blobs: builder.blobs, manifest: builder.manifests[0]!, descriptor };
}
