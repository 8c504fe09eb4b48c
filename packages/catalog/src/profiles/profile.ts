import type { FunctionDefinition, JsonObject, ProfileLoss, UnsupportedField } from '@krmhub/schema';
import { type CatalogHeader, catalogPieces, ENTRY_INDENT } from '../render/render.js';
import { toYamlItem } from '../render/to-yaml.js';

/** A dialect that another tool reads. */
export interface ProfileDialect {
  /** Counts the changes of what it writes for the same definitions: what is stored of an earlier one is not used. */
  revision: number;
  /** What it has no place for, whatever a definition says. */
  unsupportedFields: readonly UnsupportedField[];
  writer(header: CatalogHeader): ProfileWriter;
}

/** Writes a document piece by piece; the concatenation of all pieces is the document. */
export interface ProfileWriter {
  entry(definition: FunctionDefinition): ProfileEntry;
  /** To be called after the last entry. */
  end(): string;
}

export interface ProfileEntry {
  text: string;
  /** Whether the function is in the document. */
  written: boolean;
  losses: ProfileLoss[];
}

/** Reports an unsupported field of the definition that is written. */
export type ReportLoss = (loss: Omit<ProfileLoss, 'group' | 'kind'>) => void;

/** Translates a definition to items. Without items, it reports a loss without a field. */
export type Translate = (definition: FunctionDefinition, lose: ReportLoss) => JsonObject[];

/** A catalog document of the KEP whose entries are other than ours. */
export function catalogWriter(
  form: 'catalog.yaml' | 'krmfunctioncatalog.yaml',
  translate: Translate,
): (header: CatalogHeader) => ProfileWriter {
  return (header) => {
    const pieces = catalogPieces(form, header);
    return {
      entry(definition) {
        const { items, losses } = translateDefinition(definition, translate);
        const texts = items.map((item) => pieces.entry({ yaml: toYamlItem(item, ENTRY_INDENT), json: '' }));
        return { text: texts.join(''), written: items.length > 0, losses };
      },
      end: () => pieces.end(),
    };
  };
}

export function translateDefinition(
  definition: FunctionDefinition,
  translate: Translate,
): { items: JsonObject[]; losses: ProfileLoss[] } {
  const { group, names } = definition;
  const losses: ProfileLoss[] = [];
  const items = translate(definition, ({ version, field, message }) => {
    losses.push({
      group,
      kind: names.kind,
      ...(version === undefined ? {} : { version }),
      ...(field === undefined ? {} : { field }),
      message,
    });
  });
  return { items, losses };
}

/** Reports that a function is omitted, after a reason for each API version. */
export function omitFunction(lose: ReportLoss): [] {
  lose({ message: 'omitted: the profile supports none of its API versions' });
  return [];
}

/** KEP-2985 has it, and the KEP of catalogs has not. */
export function reportConfigMap(
  { name, configMap }: { name: string; configMap?: boolean },
  lose: ReportLoss,
): void {
  if (configMap !== true) return;
  lose({
    version: name,
    field: 'configMap',
    message: 'KEP-2906 does not define ConfigMap support',
  });
}
