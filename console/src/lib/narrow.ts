import { useEffect, useState } from 'preact/hooks';

// Below this width a page of columns is one column.
const narrow = '(max-width: 620px)';

// useNarrow says whether the window is as narrow as a phone.
export function useNarrow(): boolean {
  const [is, set] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const media = matchMedia(narrow);
    const look = () => set(media.matches);
    media.addEventListener('change', look);
    return () => media.removeEventListener('change', look);
  }, []);
  return is;
}
