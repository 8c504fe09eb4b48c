/** Items on a page. */
const ON_A_PAGE = 50;

export interface Paged<Item> {
  items: readonly Item[];
  /** Starts at 1. */
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
