import { RELEASE_ANNOTATION } from '@krmhub/catalog/settings/settings';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { readRuntime, readRuntimeField } from '@krmhub/functions/plan/declared-runtime';
import { defined } from '@krmhub/schema/defined';
import {
  compareDiagnostics,
  formatPath,
  type Path,
  type Position,
  type Range,
} from '@krmhub/schema/diagnostic';
import { field, isObject, textField } from '@krmhub/schema/json/access';
import { exactIntegers, type YamlDocument } from '@krmhub/yaml';
import { configValues, isBuiltin, isReadOfConfig, readDocuments } from './config-documents.js';
import type { LayerReader } from './layer-reader.js';
import type { FunctionField, ListedFunction } from './layers.js';

/** Who uses a functionConfig, and how. */
export interface ConfigUse {
  /** Folder of the layer. */
  layer: string;
  catalogs: readonly CatalogReference[];
  field: FunctionField;
  entry?: { index: number; text: string };
  /** The orchestrator does not read the annotations that name a runtime. */
  ignoresAnnotations?: boolean;
}

/** Where the text of functionConfigs is. */
export interface ConfigText {
  bytes: Uint8Array;
  /** Absolute path. */
  file: string;
  /** For text inside a kustomization: where a position of the text is in the file. */
  position?: (at: Position) => Position;
}

/**
 * Lists the functionConfigs of a text, in order. Reports documents that are not functionConfigs, and skips the kinds of
 * kustomize.
 */
export function listConfigs(reader: LayerReader, text: ConfigText, use: ConfigUse): ListedFunction[] {
  const { file, position = (at) => at } = text;
  const { documents, problems } = readDocuments(text.bytes, reader.displayName(file), isReadOfConfig);
  const moved = ({ start, end }: Range): Range => ({ start: position(start), end: position(end) });
  for (const one of problems.sort(compareDiagnostics)) {
    reader.diagnostics.push(one.range === undefined ? one : { ...one, range: moved(one.range) });
  }
  return documents.flatMap((document) => {
    const locate: YamlDocument['locate'] = (path, target) => {
      const range = document.locate(path, target);
      return range === undefined ? undefined : moved(range);
    };
    const exact = exactIntegers(text.bytes, document);
    const from = { file, inline: text.position !== undefined, exact };
    return listDocument(reader, { ...document, locate }, from, use);
  });
}

/** Lists the functionConfigs of one document. */
export function listDocument(
  reader: LayerReader,
  document: YamlDocument,
  { file, inline, exact }: { file: string; inline: boolean; exact?: (path: Path) => bigint | undefined },
  { layer, catalogs, field: used, entry, ignoresAnnotations = false }: ConfigUse,
): ListedFunction[] {
  return configValues(document).flatMap(({ value, path }): ListedFunction[] => {
    const range = document.locate(path);
    const place = { file, range, path: formatPath(path) };
    if (!isObject(value)) {
      reader.report('config/not-a-config', 'the document is not a mapping', place);
      return [];
    }
    if (isBuiltin(value)) return [];
    const { runtime, problems } = ignoresAnnotations ? readRuntimeField(value) : readRuntime(value);
    const [apiVersion, kind] = [textField(value, 'apiVersion') ?? '', textField(value, 'kind') ?? ''];
    // kustomize needs no apiVersion to run what the functionConfig names itself.
    const needsVersion = runtime === undefined && problems.length === 0;
    if (kind === '' || (apiVersion === '' && needsVersion)) {
      const missing = kind === '' ? 'kind' : 'apiVersion';
      reader.report('config/not-a-config', `the document has no ${missing}`, place);
      return [];
    }
    if (!reader.countFunction(place)) return [];
    for (const { code, message, at } of problems) {
      const full = [...path, ...at];
      reader.report(`config/${code}`, message, {
        file,
        range: document.locate(full),
        path: formatPath(full),
      });
    }
    const name = field(value.metadata, 'name');
    const release = field(field(value.metadata, 'annotations'), RELEASE_ANNOTATION);
    if (release !== undefined && typeof release !== 'string') {
      const full = [...path, 'metadata', 'annotations', RELEASE_ANNOTATION];
      reader.report('config/wrong-type', `the annotation ${RELEASE_ANNOTATION} is not a string: quote it`, {
        file,
        range: document.locate(full),
        path: formatPath(full),
      });
    }
    const request = {
      apiVersion,
      kind,
      catalogs,
      ...defined({ inline: runtime, range: typeof release === 'string' ? release : undefined }),
    };
    return [
      {
        request,
        ...defined({ name: typeof name === 'string' && name !== '' ? name : undefined }),
        file,
        line: range?.start.line ?? 1,
        column: range?.start.column ?? 1,
        ...defined({ address: reader.remoteName(file), layerAddress: reader.remoteName(layer) }),
        config: {
          value,
          positionOf: (at, target) => document.locate([...path, ...at], target)?.start,
          exact: (at) => exact?.([...path, ...at]),
        },
        document: document.index,
        path,
        field: used,
        ...defined({ entry }),
        inline,
        layer,
      },
    ];
  });
}
