// keyOf stands for an English text in the tables of other languages: 32 bits of FNV-1a (Fowler, Noll, Vo 1991)
// as a name. The tables would else carry every English text beside its translation. The build refuses two texts with
// one key.
export function keyOf(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return `_${(h >>> 0).toString(36)}`;
}
