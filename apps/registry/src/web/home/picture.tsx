/** Draws what a function does, and what the registry says about it. Colors follow the theme (assets/style.css). */
export function Picture() {
  return (
    <svg class="picture" viewBox="0 0 440 214" role="img" aria-labelledby="picture-title">
      <title id="picture-title">
        Manifests and a configuration go into a function, and changed manifests come out. The registry names
        the release, its digest, its signer, and what it may touch.
      </title>
      <g class="picture-box">
        <rect x="1" y="1" width="112" height="62" rx="6" />
        <rect x="1" y="73" width="112" height="44" rx="6" />
        <rect class="picture-function" x="160" y="22" width="120" height="76" rx="6" />
        <rect x="327" y="22" width="112" height="76" rx="6" />
        <rect class="picture-registry" x="61" y="150" width="318" height="62" rx="6" />
      </g>
      <path
        class="picture-arrow"
        d="M113 40H152m-8-6l8 6-8 6M113 92H152m-8-6l8 6-8 6M280 60H319m-8-6l8 6-8 6M220 150V106m-6 8l6-8 6 8"
      />
      <g class="picture-text">
        <text x="57" y="37">
          manifests
        </text>
        <text x="57" y="100">
          configuration
        </text>
        <text class="picture-name" x="220" y="56">
          SetLabels
        </text>
        <text x="220" y="78">
          a function
        </text>
        <text x="383" y="50">
          manifests
        </text>
        <text class="picture-change" x="383" y="76">
          + team: shop
        </text>
        <text class="picture-name" x="220" y="174">
          this registry
        </text>
        <text x="220" y="197">
          release · digest · signer · access
        </text>
      </g>
    </svg>
  );
}
