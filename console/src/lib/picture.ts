// Pictures are made small on the device: what a camera takes is ten times what a report needs, and a radio is slow.

const longestSide = 1600;
const quality = 0.8;

// shrinkPicture returns a picture as a JPEG without what a camera writes beside it, as a data URL.
export async function shrinkPicture(file: Blob): Promise<string> {
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL('image/jpeg', quality);
}

// fileOf is a kept picture as a file to send.
export function fileOf(url: string, name: string): File {
  const bytes = Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), (c) => c.charCodeAt(0));
  return new File([bytes], name, { type: 'image/jpeg' });
}
