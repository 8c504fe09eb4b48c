/** So many of a list stand on a page of operators. */
const ON_A_PAGE = 50;

export interface Paged<Item> {
  items: readonly Item[];
  /** From 1. */
  page: number;
  hasNext: boolean;
}

export function paged<Item>(all: readonly Item[], page: number): Paged<Item> {
  return {
    items: all.slice((page - 1) * ON_A_PAGE, page * ON_A_PAGE),
    page,
    hasNext: all.length > page * ON_A_PAGE,
  };
}
