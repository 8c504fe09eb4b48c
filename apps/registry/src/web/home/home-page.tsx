import { SearchBox } from '../parts/search-box.js';

export function HomePage() {
  return (
    <div class="home">
      <h1>A registry of KRM functions</h1>
      <SearchBox id="search" isLarge />
    </div>
  );
}
