/** A heading of the first page of the documentation, and the pages that its list leads to. */
export interface DocsGroup {
  title: string;
  /** Names of documents without `.md`, each in the first group that has it, and the tasks that they are for. */
  pages: { name: string; title: string }[];
}

/** An item of a list: a task, the page for it, and what else is said of the page. */
const ITEM = /^- \[(.+)\]\(([\w-]+)\.md(?:#[\w-]+)?\)(?::.*)?$/gm;

/** Reads the lists of the first page of the documentation, `docs/README.md`. */
export function readDocsIndex(text: string): DocsGroup[] {
  const listed = new Set<string>();
  return text.split(/^## /m).flatMap((section) => {
    const pages = [...section.matchAll(ITEM)].flatMap(([, task, name]) => {
      if (listed.has(name!)) return [];
      listed.add(name!);
      return [{ name: name!, title: task!.replaceAll('`', '') }];
    });
    return pages.length === 0 ? [] : [{ title: section.split('\n', 1)[0]!.trim(), pages }];
  });
}
