// A file that the tests of both engines make, at the same time and with the same
// text: who reads it sees the whole of it.
import { rename, writeFile } from 'node:fs/promises';

export async function whole(file, text) {
  const own = `${file}.${process.env.HOLDFAST_ENGINE}`;
  await writeFile(own, text);
  await rename(own, file);
}
