// Places drawn to scale on a plane, without roads. Pure: places in, numbers out.

export interface Place {
  name?: string;
  city?: string;
  postal_code?: string;
  lat?: number;
  lon?: number;
}

export type Point = [lat: number, lon: number];

export const pointOf = (p: Place | null | undefined): Point | null =>
  p?.lat != null && p.lon != null ? [p.lat, p.lon] : null;

export interface Plane {
  x(p: Point): number;
  y(p: Point): number;
  width: number;
  height: number;
  // free says whether there is room for a name at a point, and takes it.
  free(p: Point): boolean;
}

// plane fits points into 100 units, north above. A degree of longitude is shorter the farther from the equator.
export function plane(points: Point[]): Plane {
  const north = Math.max(...points.map((p) => p[0]));
  const south = Math.min(...points.map((p) => p[0]));
  const west = Math.min(...points.map((p) => p[1]));
  const shrink = Math.cos((((north + south) / 2) * Math.PI) / 180);
  const scale = 100 / Math.max((Math.max(...points.map((p) => p[1])) - west) * shrink, (north - south) * 1.2, 0.5);
  const x = (p: Point) => (p[1] - west) * shrink * scale;
  const y = (p: Point) => (north - p[0]) * scale;
  const written: Point[] = [];
  return {
    x,
    y,
    width: Math.max(...points.map(x)),
    height: (north - south) * scale,
    free(p) {
      if (written.some(([a, b]) => Math.abs(a - x(p)) < 14 && Math.abs(b - y(p)) < 3)) return false;
      written.push([x(p), y(p)]);
      return true;
    },
  };
}
