import type { FunctionDefinition, JsonObject, UnsupportedField, UnsupportedValue } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type CatalogHeader, catalogPieces, ENTRY_INDENT } from '../render/render.js';
import { toYamlItem } from '../render/to-yaml.js';

/** An output dialect for another tool. */
export interface ProfileDialect {
  /** The version of the output for the same definitions. Stored output of earlier versions is not used. */
  revision: number;
  /** Fields that it never supports. */
  unsupportedFields: readonly UnsupportedField[];
  writer(header: CatalogHeader): ProfileWriter;
}

/** Writes a document in pieces. Their concatenation is the document. */
export interface ProfileWriter {
  entry(definition: FunctionDefinition): ProfileEntry;
  /** Call this after the last entry. */
  end(): string;
}

export interface ProfileEntry {
  text: string;
  /** Whether the document contains the function. */
  written: boolean;
  unsupported: UnsupportedValue[];
}

/** Reports an unsupported field of the current definition. */
export type ReportUnsupported = (value: Omit<UnsupportedValue, 'group' | 'kind'>) => void;

/** Reports unsupported fields of the runtimes of an API version. */
export const reportRuntime =
  (report: ReportUnsupported, version: string) =>
  (field: string, message: string): void =>
    report({ version, field: `runtime.${field}`, message });

/** Converts a definition to items. Without items, it reports an omitted function. */
type Translate = (definition: FunctionDefinition, report: ReportUnsupported) => JsonObject[];

/** Creates a profile that is a KEP catalog with different entries. */
export function catalogWriter(
  form: 'catalog.yaml' | 'krmfunctioncatalog.yaml',
  translate: Translate,
): (header: CatalogHeader) => ProfileWriter {
  return (header) => {
    const pieces = catalogPieces(form, header);
    return {
      entry(definition) {
        const { items, unsupported } = translateDefinition(definition, translate);
        const texts = items.map((item) => pieces.entry({ yaml: toYamlItem(item, ENTRY_INDENT), json: '' }));
        return { text: texts.join(''), written: items.length > 0, unsupported };
      },
      end: () => pieces.end(),
    };
  };
}

export function translateDefinition(
  definition: FunctionDefinition,
  translate: Translate,
): { items: JsonObject[]; unsupported: UnsupportedValue[] } {
  const { group, names } = definition;
  const unsupported: UnsupportedValue[] = [];
  const items = translate(definition, ({ version, field, message }) => {
    unsupported.push({
      group,
      kind: names.kind,
      ...defined({ version, field }),
      message,
    });
  });
  return { items, unsupported };
}

/** Reports that a function is omitted, after a reason for each API version. */
export function omitFunction(report: ReportUnsupported): [] {
  report({ message: 'omitted: the profile supports none of its API versions' });
  return [];
}

/** KEP-2985 defines it, but KEP-2906 does not. */
export function reportConfigMap(
  { name, configMap }: { name: string; configMap?: boolean },
  report: ReportUnsupported,
): void {
  if (configMap !== true) return;
  report({
    version: name,
    field: 'configMap',
    message: 'KEP-2906 does not define ConfigMap support',
  });
}
