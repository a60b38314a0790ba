// The title of the window names the page (WCAG 2.2, 2.4.2): its heading without the state beside it, or what it says
// instead of one, the list that it is of, and the product.

// titleOf is what the page as it stands is called.
function titleOf(product: string): string {
  const heading = document.querySelector('main h1, main .empty h3')?.cloneNode(true) as HTMLElement | undefined;
  for (const state of heading?.querySelectorAll('.badge') ?? []) state.remove();
  const list = [...document.querySelectorAll('main .head .crumbs a')].pop();
  return [heading?.textContent?.trim(), list?.textContent?.trim(), product].filter(Boolean).join(' · ');
}

// watchTitle keeps the title of the window true; it returns what ends that.
export function watchTitle(product: string): () => void {
  const name = () => {
    const title = titleOf(product);
    if (document.title !== title) document.title = title;
  };
  const look = new MutationObserver(name);
  look.observe(document.body, { childList: true, subtree: true, characterData: true });
  name();
  return () => look.disconnect();
}
