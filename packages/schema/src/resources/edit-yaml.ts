import * as editor from '@krmhub/yaml/edit';
import { ResourceFile } from '@krmhub/yaml/edit/resource-file';
import { expected } from './expected.js';

/** Changes of YAML files that keep all other text, with the errors of krmhub. Most readers need none of this. */
export type { DocumentEdit, EditedFile, EditNote, FileEdit } from '@krmhub/yaml/edit';
export type { ResourceFile } from '@krmhub/yaml/edit/resource-file';

export const editFile = expected(editor.editFile);
export const openResourceFile = expected((text: string, name: string) => new ResourceFile(text, name));
